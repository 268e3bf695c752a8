"""A small decoder of our own for the families that people pair most: static caches, few calls."""
