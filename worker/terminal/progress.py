"""Show how far a command is: one line redrawn in place on a terminal, a plain line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

BAR = 24
PLAIN_EVERY_S = 10.0  # a log wants to see that it goes on, not every sample


class ProgressLine:
    """Line about how far a step is."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.now = now
        self.redraws = stream.isatty()
        self.began = self.spoke = now()

    def show(self, done: int, total: int, words: str, label: str = "", *, says_end: bool = False) -> None:
        """Write how many are done, and the time left. Where no line can be redrawn, write it now and then, and at the
        end if `says_end`."""
        left = f" · {duration(self.spent / done * (total - done))} left" if done else ""
        state = f"{done}/{total} {words}{left}"
        if self.redraws:
            full = BAR * done // total
            self._write(f"\r\x1b[K{'█' * full}{'░' * (BAR - full)} {state}{label and f' · {label}'}")
        elif self.now() - self.spoke >= PLAIN_EVERY_S or (says_end and done == total):
            self.spoke = self.now()
            self._write(f"{state}\n")

    def close(self) -> None:
        """Leave the line to whoever writes next."""
        if self.redraws:
            self._write("\r\x1b[K")

    @property
    def spent(self) -> float:
        """Seconds since the step began."""
        return max(self.now() - self.began, 1e-9)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class ComparisonProgress(ProgressLine):
    """Line about how far a comparison is."""

    def __init__(self, total: int, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, now)
        self.total = total
        self.done = 0
        self.tokens = 0

    def sample(self, label: str, tokens: int) -> None:
        """One more sample is decoded."""
        self.done += 1
        self.tokens += tokens
        self.show(self.done, self.total, f"samples · {self.tokens / self.spent:.0f} tokens/s", label, says_end=True)


def duration(seconds: float) -> str:
    """Write a duration in the units a person would say: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
