"""Starter pair, its prompts, and the recipe that makes them."""
