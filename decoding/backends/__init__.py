"""What runs a choice: the pair of models in memory, the places of a batch, and the contestants."""
