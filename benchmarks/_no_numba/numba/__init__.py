"""First on the path, this hides numba: what can do without it, does."""

raise ImportError("hidden from this measurement")
