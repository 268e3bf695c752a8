"""Every decision of SSD. Standard library only: a live run and a simulation drive the same policy."""
