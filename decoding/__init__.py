"""The engine: models, strategies and the one decode loop. It knows no web, no queue and no files but checkpoints."""
