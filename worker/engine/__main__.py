"""`python -m worker.engine FD`: carry out orders, one after the other, until nobody gives any more."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from worker import leash, niceness

if __name__ == "__main__":
    leash.put_on()
    niceness.pass_on()
    from worker.engine.serving import serve  # loads torch, which takes seconds: the leash comes first

    serve(Connection(int(sys.argv[1])))
