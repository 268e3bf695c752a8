"""`python -m decoding.ssd.transport` runs the draft in a process of its own, on a core of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

from decoding.ssd.transport.mailbox import Connection, Gone, answering

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    memory, hears, rings, question, answer, postscript, board, *cores = map(int, arguments)
    mailbox = answering(Connection(memory, hears, rings, (question, answer, postscript, board)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; when to end is the target's to say
    if sys.platform == "linux":
        # A bell that nobody can ring any more tells the same, but not to one who is stopped.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if cores:
        os.sched_setaffinity(0, cores)
    from decoding.ssd.transport.beside import (
        serve,  # loads torch, which takes seconds and looks at the cores it may use
    )

    with suppress(Gone):
        serve(mailbox)


if __name__ == "__main__":
    main(sys.argv[1:])
