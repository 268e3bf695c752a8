"""Progress of a study or a training on the whole, counted in samples decoded: they take the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.messages import Emit, Step


@dataclass
class Steps:
    """Say each step, and how much of all it is. `parts` are the phases in order, each with the samples it decodes; one
    that decodes none is quick."""

    emit: Emit
    parts: Mapping[str, int]
    _done: int = field(default=0, init=False)

    def __call__(
        self, phase: str, done: int, due: int, detail: str = "", numbers: Mapping[str, float] | None = None
    ) -> None:
        before = 0
        for name, samples in self.parts.items():
            if name == phase:
                self._done = before + samples * done // max(1, due)
            before += samples
        self.emit(Step(phase, done, due, detail, numbers or {}, (self._done, before)))
