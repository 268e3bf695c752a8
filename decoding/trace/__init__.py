"""What a run tells: its events, their times, and the counts that are taken from them."""
