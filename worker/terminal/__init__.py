"""Comparisons in a terminal. Knows nothing of the web or of a database."""
