"""Comparisons: run them, sum them up, and say what holds."""
