"""Runners that round differently, remember what they were given, or decide when something happens to their draft."""

from __future__ import annotations

import dataclasses
from collections import abc
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from decoding.models.runner import Feed, ModelRunner
from decoding.ssd.transport.draft_process import DraftProcess
from tests.kit.processes import state, until
from tests.kit.table import TableModel, TableRunner
from tests.kit.worlds import state_of


class RoundsDifferently(TableRunner):
    """A target whose pass over several rows does not quite repeat its pass over one, like any on real hardware."""

    def __init__(self, table: Tensor, error: float) -> None:
        super().__init__(table, 4096, state_of)
        self.error = error

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        logits = super().extend(tokens, need)
        return logits if need == 1 else logits + self.error * torch.arange(self.vocab_size)


class Around:
    """A runner around another one."""

    def __init__(self, runner: ModelRunner) -> None:
        self.runner = runner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)


class Watched(Around):
    """It remembers how many tokens it was given at a time."""

    def __init__(self, runner: ModelRunner) -> None:
        super().__init__(runner)
        self.fed: list[int] = []

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        self.fed.append(len(tokens))
        return self.runner.extend(tokens, need)


class Patient(Around):
    """A target that verifies only once the draft has prepared all it can and sleeps, so that no outcome depends on
    which of the two is faster."""

    def __init__(self, target: ModelRunner, process: DraftProcess) -> None:
        super().__init__(target)
        self._process = process

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        assert self._process.pid
        until(lambda: state(self._process.pid or 0) == "S", "the draft to sleep")
        return self.runner.extend(tokens, need)


class Striking(Around):
    """A target that does something to its draft's process before one of its passes. The prompt's is the first."""

    def __init__(self, target: ModelRunner, process: DraftProcess, moment: int, deed: Callable[[int], None]) -> None:
        super().__init__(target)
        self._process, self._moment, self._deed = process, moment, deed
        self._passes = 0

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        self._passes += 1
        if self._passes == self._moment:
            assert self._process.pid
            self._deed(self._process.pid)
        return self.runner.extend(tokens, need)


@dataclasses.dataclass(frozen=True)
class Counting(TableModel):
    """A table that remembers how many texts shared each pass, and how many rows the pass had."""

    passes: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def extend_all(self, feeds: abc.Sequence[Feed]) -> list[Tensor]:
        self.passes.append((len(feeds), sum(len(tokens) for _, tokens, _ in feeds)))
        return super().extend_all(feeds)
