"""Engine: models, strategies and the one decode loop. It knows no web and no queue, no files but checkpoints."""
