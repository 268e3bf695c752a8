"""How long a process may take over files or a silence. Its own processor time counts, not the clock's: on a busy
machine the same work takes many times as long."""

from __future__ import annotations

import time
from collections.abc import Callable

from decoding.errors import DrafthouseError
from worker import gauges

STUCK = 5  # times as long by the clock, and the process waits for something that will not come
IDLE = 0.01  # of the time by the clock: a process that gets less of a core does nothing, however busy its machine is


class OverTime(DrafthouseError):
    code = "time-limit"

    def __init__(self, doing: str, seconds: float) -> None:
        super().__init__(
            f"{doing} took longer than {seconds:.0f} s and was ended. A tokenizer or prompt is damaged or made to take "
            "time. Use another copy of it."
        )


class ProcessTime:
    """Time that a process and all that it has started have spent since now."""

    def __init__(
        self,
        pid: int | None,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        cpu_time_of: Callable[[int], float | None] = gauges.cpu_time_of,
    ) -> None:
        """`seconds`: the most that it may take. `pid`: of the process, if it has started."""
        self._pid, self.seconds = pid, seconds
        self._clock, self._cpu_time_of = clock, cpu_time_of
        self._since, self._spent = clock(), self._now()

    @property
    def waited(self) -> float:
        """Seconds by the clock."""
        return self._clock() - self._since

    @property
    def is_over(self) -> bool:
        """Whether the process has worked longer than it may."""
        return self.waited > self.seconds and self.worked > self.seconds

    @property
    def is_idle(self) -> bool:
        """Whether the process does nothing, and has had the time that it may take."""
        return self.waited > self.seconds and self.worked < IDLE * self.waited

    @property
    def has_had_its_time(self) -> bool:
        """Whether the process has had its time: it worked that long, or does nothing."""
        return self.is_over or self.is_idle

    @property
    def is_stuck(self) -> bool:
        return self.waited > STUCK * self.seconds

    @property
    def worked(self) -> float:
        """Seconds of processor time; by the clock once the process is gone."""
        now = self._now()
        if now is None or self._spent is None:
            return self.waited
        return now - self._spent

    def _now(self) -> float | None:
        return self._cpu_time_of(self._pid) if self._pid is not None else None
