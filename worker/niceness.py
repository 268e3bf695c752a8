"""Leave the cores to other programs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICENESS = 10  # against a program with 0 that wants the same core, Linux gives this one 10 % of it


def give_way() -> None:
    os.nice(NICENESS)
    pass_on()


def pass_on() -> None:
    """Give this process's niceness to the session that it leads. Where Linux weighs sessions against one another
    (autogroup), a process's own counts within its session alone, and a new session begins with 0."""
    if os.getsid(0) != os.getpid():
        return  # the session is somebody's terminal
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))
