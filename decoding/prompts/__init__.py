"""Prompts, and the forms and files that they come in."""
