"""DISCO: a small classifier reads the draft's own distribution and decides, after each drafted token, whether to go
on. What it learns from, how it is trained, and the stop rules that ask it."""
