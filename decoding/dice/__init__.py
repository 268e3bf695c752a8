"""Chance: keyed noise, how a token is chosen from logits, and how drafted tokens are judged."""
