"""Targets that decide when something happens to their draft, however busy the machine."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import torch

from decoding.models.runner import ModelRunner
from decoding.ssd.transport.draft_process import DraftProcess
from tests.kit.processes import state, until


class Patient:
    """A target that verifies only once the draft has prepared all it can and sleeps, so that no outcome depends on
    which of the two is faster."""

    def __init__(self, target: ModelRunner, process: DraftProcess) -> None:
        self._target, self._process = target, process

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        assert self._process.pid
        until(lambda: state(self._process.pid or 0) == "S", "the draft to sleep")
        return self._target.extend(tokens, need)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class Striking:
    """A target that does something to its draft's process before certain of its passes. The prompt's pass is the
    first."""

    def __init__(
        self, target: ModelRunner, process: DraftProcess, moments: Container[int], deed: Callable[[int], None]
    ) -> None:
        self._target, self._process, self._moments, self._deed = target, process, moments, deed
        self._passes = 0

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        self._passes += 1
        if self._passes in self._moments:
            assert self._process.pid
            self._deed(self._process.pid)
        return self._target.extend(tokens, need)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)
