"""Events of a run, their times, and the counts that are taken from them."""
