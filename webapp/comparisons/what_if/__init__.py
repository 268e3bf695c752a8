"""Simulate other settings from the traces of a comparison."""
