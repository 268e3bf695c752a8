"""Runners that round differently, or remember what they were given."""

from __future__ import annotations

import dataclasses
from collections import abc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from decoding.models.runner import Feed, ModelRunner
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


class Watched:
    """A runner that remembers how many tokens it was given at a time."""

    def __init__(self, runner: ModelRunner) -> None:
        self.runner = runner
        self.fed: list[int] = []

    def extend(self, tokens: Sequence[int], need: int = 1) -> torch.Tensor:
        self.fed.append(len(tokens))
        return self.runner.extend(tokens, need)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)


@dataclasses.dataclass(frozen=True)
class Counting(TableModel):
    """A table that remembers how many texts shared each pass, and how many rows the pass had."""

    passes: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def extend_all(self, feeds: abc.Sequence[Feed]) -> list[Tensor]:
        self.passes.append((len(feeds), sum(len(tokens) for _, tokens, _ in feeds)))
        return super().extend_all(feeds)
