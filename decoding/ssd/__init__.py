"""SSD: while the target verifies, the draft prepares the next round's draft for the outcomes that are likely."""
