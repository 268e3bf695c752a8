"""One clock per sample. Every time in a trace is read from it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Nanoseconds since the sample began, not counting what happened while it was stopped."""

    def __init__(self) -> None:
        self._zero = time.perf_counter_ns()

    def now(self) -> int:
        return self.at(time.perf_counter_ns())

    def at(self, counter: int) -> int:
        """A `time.perf_counter_ns()` that was read elsewhere, by this clock: all processes of a machine count alike."""
        return counter - self._zero

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """For work that is not the strategy's own: an oracle's peeking."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self._zero += time.perf_counter_ns() - start
