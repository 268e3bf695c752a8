"""Settings replayed on what a comparison recorded. Standard library only; nothing here was measured."""
