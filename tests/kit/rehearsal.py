"""Rehearsal: stands in for `Capturing` on a CPU. A replay runs the launches again and fills the same outputs.

Tests `on_a_gpu` also run on the CPU, so that they cannot rot where there is no GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from decoding.dice.choosing import Look, Picker, Pickers
from decoding.dice.sampling import Sampling
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.passes import StaticPasses
from decoding.models.fast.runner import FastModel, FastRunner
from tests.kit.models import fast_runner

on_a_gpu = pytest.mark.parametrize("device", [
    pytest.param(torch.device("cpu"), id="rehearsed"),
    pytest.param(torch.device("cuda:0"), id="gpu", marks=pytest.mark.gpu),
])  # fmt: skip


class Launching(Pickers):
    """A device like a GPU, where everything that would be captured runs call by call."""

    def of(self, sampling: Sampling, look: Look | None) -> Picker | None:
        return Picker(sampling, self._vocab, self._device, look) if sampling.fixes_the_text else None


class Calling(Pickers):
    """A device whose host reads each token before it launches the next."""

    def of(self, sampling: Sampling, look: Look | None) -> None:
        return None


def launching_on(device: torch.device) -> type[Pickers]:
    return Pickers if device.type == "cuda" else Launching


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

    def time(self, work: Callable[[], object], calls: int = 1) -> float:
        """Prefer the later of two ways of attending: a GPU may prefer either."""
        work()
        self.timed.append(work)
        return -float(len(self.timed))


def rehearse(runner: FastRunner) -> Rehearsal:
    """Let this runner of a static model record and replay its passes."""
    rehearsal = Rehearsal()
    model = runner.model
    assert isinstance(model, FastModel)
    runner.passes = StaticPasses(model.decoder, runner.cache, cast(Any, rehearsal))
    return rehearsal


def captured_runner(folder: Path, device: torch.device, **options: Any) -> FastRunner:
    """Return a runner of static passes that are captured, on a CPU in rehearsal."""
    runner = fast_runner(folder, device=device, static=True, **options)
    if device.type == "cpu":
        rehearse(runner)
    return runner
