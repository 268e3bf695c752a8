"""Exchanges between target and speculators: with a process beside it, with a lane of its own, or in turn."""
