"""Clock of a sample. Every time in a trace is read from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class StoppedTime:
    """Time in which clocks were stopped."""

    total: int = 0  # ns
    open: int = 0  # how many stops the clocks are in; only the outermost counts


class Clock:
    """Nanoseconds since the sample began, without the time in which the clock was stopped."""

    def __init__(self, beside: Clock | None = None) -> None:
        """A clock beside another stops whenever that one stops: their samples are decoded together."""
        self._pauses: StoppedTime = beside._pauses if beside else StoppedTime()
        self._zero = time.perf_counter_ns() - self._pauses.total

    def now(self) -> int:
        return self.at(time.perf_counter_ns())

    def at(self, counter: int) -> int:
        """Convert a `time.perf_counter_ns()` from another process: all processes of a machine share that counter."""
        return counter - self._pauses.total - self._zero

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock during work that is not the strategy's own, such as an oracle's peeking."""
        start = time.perf_counter_ns()
        self._pauses.open += 1
        try:
            yield
        finally:
            self._pauses.open -= 1
            if not self._pauses.open:
                self._pauses.total += time.perf_counter_ns() - start
