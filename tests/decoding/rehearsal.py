"""Rehearsal: stands in for `Capturing` on a CPU. A replay runs the launches again and fills the same outputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from decoding.capturing import Capturing
from decoding.models.fast.model import FastModel
from decoding.models.fast.passes import StaticPasses
from decoding.models.fast.runner import FastRunner


class Graph:
    def __init__(self, launch: Callable[[], torch.Tensor], outputs: torch.Tensor) -> None:
        self._launch, self._outputs = launch, outputs

    def replay(self) -> None:
        self._outputs.copy_(self._launch())


class Rehearsal:
    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.priority = 0
        self.recorded = 0
        self.timed: list[object] = []

    def record(self, launch: Callable[[], torch.Tensor]) -> tuple[Graph, torch.Tensor]:
        self.recorded += 1
        Capturing.made += 1
        outputs = launch()
        return Graph(launch, outputs), outputs

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def time(self, work: Callable[[], object]) -> float:
        """Prefer the later of two ways of attending: a GPU may prefer either."""
        work()
        self.timed.append(work)
        return -float(len(self.timed))


def rehearse(runner: FastRunner) -> Rehearsal:
    """Let this runner of a static model record and replay its passes."""
    rehearsal: Any = Rehearsal()
    model = runner.model
    assert isinstance(model, FastModel)
    runner.passes = StaticPasses(model.decoder, runner.cache, rehearsal)
    return rehearsal
