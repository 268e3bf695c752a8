"""Tell whether a job can have ended a process, or whether it was ended from outside
(docs/decisions/0028-which-attempts-count.md)."""

from __future__ import annotations

import faulthandler
import signal
from dataclasses import dataclass
from pathlib import Path

from worker import gauges

# A program does not send itself these. The system sends SIGKILL when memory runs out, which leaves other traces.
FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
SHORT = 0.05  # of the machine's memory available: programs that guard memory begin to kill


@dataclass(frozen=True, slots=True)
class Marks:
    """State of a machine. Two of them show whether in between it went down or ran out of memory."""

    boot: str = ""
    oom_kills: int | None = None  # since the machine was started; None where the system does not count them
    is_short: bool = False


def marks() -> Marks:
    return Marks(gauges.boot(), gauges.oom_kills(), is_short_of_memory())


def is_short_of_memory() -> bool:
    used, total = gauges.memory()
    return used > (1 - SHORT) * total


def job_may_have_ended_it(code: int | None, before: Marks, now: Marks) -> bool:
    """`code` as subprocess gives it; None where nobody saw it. `before`: when the process still lived."""
    if code is not None and code > 0:
        return True
    if code and -code not in FROM_OUTSIDE:
        return True
    went_down = before.boot != now.boot
    return went_down or (code != 0 and _memory_may_have_run_out(before, now))


def _memory_may_have_run_out(before: Marks, now: Marks) -> bool:
    if before.oom_kills is None or now.oom_kills is None:
        return True
    return before.is_short or now.oom_kills > before.oom_kills


def how_it_ended(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class CrashNote:
    """A file into which Python writes when this process crashes, for the process that follows. Where nobody watches
    over a worker, as in a container, nobody else can tell."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.left = path.read_text(errors="replace") if path.exists() else ""
        self._file = path.open("wb")
        faulthandler.enable(self._file)
