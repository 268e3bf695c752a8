"""The loop of rounds: a batch of sequences, each drafting, verified together, and what ends a text."""
