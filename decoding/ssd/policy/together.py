"""Decisions that the texts of one batch share: which of them get the branches.

Standard library only. Whatever is decided here, each text stays the target's: branches say only when a
draft is made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.misses import Misses

Name = TypeVar("Name", bound=Hashable)  # of a text


@dataclass(frozen=True)
class RowBudget:
    """Rows that all texts together have in one pass of the draft."""

    branches: int | None  # None: as many as pay
    hides: bool = True  # whether the draft prepares while the target verifies
    breadth: Breadth = field(default_factory=Breadth)  # which the texts of a run share

    def asks(self, most: int) -> int:
        """Return how many outcomes a text chooses this round, at most so many."""
        return most if self.branches is not None else self.breadth.asks(most)

    def rows(self, asked: Iterable[ChosenOutcomes]) -> int:
        """Return how many of the outcomes that the texts ask for get a row."""
        if self.branches is not None:
            return self.branches
        return self.breadth.choose([value for chosen in asked for value in chosen.values], self.hides)


def shared_out(asked: Mapping[Name, ChosenOutcomes], rows: int) -> dict[Name, ChosenOutcomes]:
    """Give the rows to the outcomes that are likeliest to come, whichever text they belong to.

    Every row of a pass costs the same, and a hit saves its text as many passes as its branch took, so the likeliest
    outcome is also the one that brings most for its price."""
    if sum(len(chosen.outcomes) for chosen in asked.values()) <= rows:
        return dict(asked)
    every = [(-value, text, number) for text, chosen in asked.items() for number, value in enumerate(chosen.values)]
    kept: dict[Name, list[int]] = {text: [] for text in asked}
    for _, text, number in sorted(every, key=lambda one: one[0])[:rows]:
        kept[text].append(number)
    return {text: chosen.only(sorted(kept[text])) for text, chosen in asked.items()}


@dataclass(frozen=True)
class Experience:
    """Times and hits that all texts of a run learn together."""

    breadth: Breadth = field(default_factory=Breadth)
    misses: Misses = field(default_factory=Misses)
