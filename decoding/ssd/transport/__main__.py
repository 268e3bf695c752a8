"""`python -m decoding.ssd.transport` runs the draft in a process of its own, on a core of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

from decoding.ssd.transport.mailbox import MailboxHandles, ProcessGone, answering

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    memory, bell_read, bell_write, question, answer, postscript, board, *cores = map(int, arguments)
    mailbox = answering(MailboxHandles(memory, bell_read, bell_write, (question, answer, postscript, board)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the target's process decides when to end
    if sys.platform == "linux":
        # The target's end closes the bell when it dies, but a stopped process does not hear that.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if cores:
        os.sched_setaffinity(0, cores)
    # Imported only now: this loads torch, which takes seconds and looks at the cores that it may use.
    from decoding.ssd.transport.draft_server import serve

    with suppress(ProcessGone):
        serve(mailbox)


if __name__ == "__main__":
    main(sys.argv[1:])
