"""Training a classifier: how prompts are split, and which network is trained."""
