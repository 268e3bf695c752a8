"""Training a classifier: how prompts are split, which networks are tried, and which of them is kept."""
