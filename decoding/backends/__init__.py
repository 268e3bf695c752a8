"""Backends, which run choices: the pair of models in memory, the places of a batch, and the contestants."""
