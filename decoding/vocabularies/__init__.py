"""Drafts with another tokenizer than the target's: what their tokens write, what both can say, and how each reads the
other (arXiv 2502.05202)."""
