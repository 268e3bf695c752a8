"""How long a process may take to open strangers' files. Its own processor time counts, not the clock's: on a busy
machine a sound file takes many times as long."""

from __future__ import annotations

import os
import time

from decoding.errors import DrafthouseError
from worker import gauges

STUCK = 5  # times as long by the clock, and the process waits for something that will not come


class OverTime(DrafthouseError):
    code = "time-limit"

    def __init__(self, doing: str, seconds: float) -> None:
        super().__init__(
            f"{doing} took longer than {seconds:.0f} s and was ended. A tokenizer or prompt is damaged or made to take "
            "time. Use another copy of it."
        )


class Opening:
    """Time that a process has spent since it was asked to open files."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid, self.seconds = pid, seconds
        self._since, self._ticks = time.monotonic(), gauges.ticks_of(pid)

    @property
    def waited(self) -> float:
        """Seconds by the clock."""
        return time.monotonic() - self._since

    @property
    def is_over(self) -> bool:
        """Whether the process has worked longer than it may."""
        return self.waited > self.seconds and self._worked() > self.seconds

    @property
    def is_stuck(self) -> bool:
        return self.waited > STUCK * self.seconds

    def _worked(self) -> float:
        """Seconds of processor time; by the clock where the system does not tell."""
        now = gauges.ticks_of(self._pid)
        if now is None or self._ticks is None:
            return self.waited
        return (now - self._ticks) / os.sysconf("SC_CLK_TCK")
