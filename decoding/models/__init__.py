"""Models: their folders and files, runners that read texts with them, and whether two of them fit together."""
