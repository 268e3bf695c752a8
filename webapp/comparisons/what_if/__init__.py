"""Other settings, played on what a comparison recorded."""
