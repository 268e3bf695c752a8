"""How far a comparison is: one line redrawn in place on a terminal, a plain line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

BAR = 24
PLAIN_EVERY_S = 10.0  # a log wants to see that it goes on, not every sample


class Progress:
    def __init__(self, total: int, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.stream = stream
        self.now = now
        self.redraws = stream.isatty()
        self.done = 0
        self.tokens = 0
        self.began = self.spoke = now()

    def sample(self, label: str, tokens: int) -> None:
        """One more sample is decoded."""
        self.done += 1
        self.tokens += tokens
        if self.redraws:
            self._write(f"\r\x1b[K{self._bar()} {self._state()} · {label}")
        elif self.now() - self.spoke >= PLAIN_EVERY_S or self.done == self.total:
            self.spoke = self.now()
            self._write(f"{self._state()}\n")

    def close(self) -> None:
        """Leave the line to whoever writes next."""
        if self.redraws:
            self._write("\r\x1b[K")

    def _bar(self) -> str:
        full = BAR * self.done // self.total
        return "█" * full + "░" * (BAR - full)

    def _state(self) -> str:
        spent = max(self.now() - self.began, 1e-9)
        left = spent / self.done * (self.total - self.done)
        return f"{self.done}/{self.total} samples · {self.tokens / spent:.0f} tokens/s · {duration(left)} left"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def duration(seconds: float) -> str:
    """Write a duration in the units a person would say: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
