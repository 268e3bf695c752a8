"""SSD: while the target verifies, the draft prepares the next draft for the outcomes that are likely.

`policy` takes every decision. `speculator` drives it with models, and `transport` connects it with the target;
`replay.ssd` drives it with recordings and prices. `trace.accounting` reads the traces of both.
"""
