"""The draft side of one sample: it answers a verdict, then prepares drafts for the next ones."""
