"""A process that ends when the one that started it does, however that ended: no orphan is left behind.

`python -m worker.leash COMMAND …` puts a foreign program on the leash.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOLDER = "DRAFTHOUSE_LEASH"  # the process id of who holds it; who is started by hand has none and runs free
PR_SET_PDEATHSIG = 1


def put_on() -> None:
    """Call this first in a child, from its main thread."""
    holder = int(os.environ.get(HOLDER, 0))
    if not holder:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(holder,), daemon=True).start()
    if os.getppid() != holder:  # it died before the leash was on
        os._exit(1)


def held() -> dict[str, str]:
    """The environment for a child of this process: on our leash, and with our modules, wherever we were started."""
    return {**os.environ, HOLDER: str(os.getpid()), "PYTHONPATH": str(ROOT)}


def _watch(holder: int) -> None:
    """Where the system cannot tell us of our parent's death, look."""
    while os.getppid() == holder:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    put_on()
    os.execv(sys.argv[1], sys.argv[1:])
