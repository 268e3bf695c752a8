"""Replays of recorded texts: counts of passes, their prices, and plans."""
