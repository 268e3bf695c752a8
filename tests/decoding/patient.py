"""A target that is always slower than its draft, however busy the machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from decoding.runner import ModelRunner
from decoding.ssd.resident import DraftProcess
from tests.decoding.test_ssd_process import DEADLINE, state


class Patient:
    """A target that verifies only once the draft has prepared all it can, and sleeps: then no outcome depends on which
    of the two is faster."""

    def __init__(self, target: ModelRunner, process: DraftProcess) -> None:
        self._target, self._process = target, process

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        assert self._process.pid
        until(lambda: state(self._process.pid or 0) == "S")
        return self._target.extend(tokens, need)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < deadline
