"""Progress of a study or a training on the whole, counted in samples decoded: they take the time."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from worker.messages import Emit, JobProgress


@dataclass
class PhaseProgress:
    """Say each step, and how much of all it is. `parts` are the phases in order, each with the samples it decodes; one
    that decodes none is quick. An earlier attempt has finished those in `kept`."""

    emit: Emit
    parts: Mapping[str, int]
    kept: Collection[str] = ()
    _done: int = field(default=0, init=False)

    def __call__(
        self, phase: str, done: int, due: int, detail: str = "", numbers: Mapping[str, float] | None = None
    ) -> None:
        if phase in self.parts:
            self._done = self._finished_before(phase)
            if phase not in self.kept:
                self._done += self.parts[phase] * done // max(1, due)
        whole, is_counted = (self._done, sum(self.parts.values())), self.parts.get(phase, 0) > 0
        self.emit(JobProgress(phase, done, due, detail, numbers or {}, whole, is_counted))

    def _finished_before(self, phase: str) -> int:
        """Samples of the phases before this one, and of all that are kept."""
        earlier = {*itertools.takewhile(lambda name: name != phase, self.parts), *self.kept}
        return sum(samples for name, samples in self.parts.items() if name in earlier)
