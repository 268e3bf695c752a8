"""Show what a command runs and how far it is: one line redrawn in place on a terminal, a plain line now and then
anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from worker.messages import JobProgress, PairLoaded

BAR = 24
PLAIN_EVERY_S = 10.0  # a log wants to see that it goes on, not every sample


class ProgressLines:
    """Lines about the steps of a command. A terminal redraws one line for each phase; elsewhere a phase has a line for
    its first step, one for its last, and one now and then."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.now = now
        self.redraws = stream.isatty()
        self._phase = ""
        self._spoke = 0.0
        self._first: tuple[float, int] | None = None  # when the first step came, and samples done until then

    def show(self, step: JobProgress) -> None:
        line = f"{step.phase}: {step.done}/{step.due} {step.detail}".rstrip() + self._left(step)
        is_new = step.phase != self._phase
        if self.redraws:
            full = BAR * step.done // max(1, step.due)
            new_line = "\n" if is_new and self._phase else ""
            self.stream.write(f"{new_line}\r\x1b[K{'█' * full}{'░' * (BAR - full)} {line}")
        elif is_new or step.done == step.due or self.now() - self._spoke >= PLAIN_EVERY_S:
            self._spoke = self.now()
            self.stream.write(f"{line}\n")
        self.stream.flush()
        self._phase = step.phase

    def close(self) -> None:
        """End the line: somebody else writes next."""
        if self.redraws and self._phase:
            self.stream.write("\n")
        self._phase = ""

    def _left(self, step: JobProgress) -> str:
        """Say how long the rest takes if each of its samples takes as long as those that this process decoded."""
        if step.whole is None:
            return ""
        done, due = step.whole
        began, before = self._first = self._first or (self.now(), done)
        if not step.is_counted or done <= before:
            return ""
        return f", about {duration((self.now() - began) / (done - before) * (due - done))} left"


def duration(seconds: float) -> str:
    """Write a duration in the units a person would say: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def described(name: str, loaded: PairLoaded) -> list[str]:
    """Describe models and machine, for people."""
    if loaded.models is None:
        return ["Servers alone"]
    target, draft = loaded.models["target"], loaded.models["draft"]
    sizes = f", draft {_size(draft)} parameters" if draft else " parameters, no draft"
    threads = f"{target['threads']} thread" + ("s" if target["threads"] > 1 else "")
    dtype = f"{target['dtype']} on {target['weights']} weights"
    return [
        f"{name}: target {_size(target)}{sizes}",
        f"{target['device_name']}, {threads}, {target['runner']} runner, {dtype}",
    ]


def _size(model: Mapping[str, Any]) -> str:
    count = model["parameters"]
    return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"


def say(words: str) -> None:
    """Print to stderr, apart from the result."""
    print(words, file=sys.stderr, flush=True)
