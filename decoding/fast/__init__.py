"""A small decoder of our own for the families that people pair most: one sequence, static storage, few calls."""
