"""How the target reaches the speculator: in turn, in a process beside it, or on a lane of its own."""
