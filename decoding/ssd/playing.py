"""What is under way in a simulation, and how it is told in a trace. Standard library only; times are in seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.events import Anticipated, Backup, Drafted, Source

UNSEEN = -1  # a token that is surely not the target's


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


@dataclass(frozen=True)
class Sent:
    """The draft that is with the target."""

    tokens: Sequence[int]  # UNSEEN where only their number is known
    source: Source
    backup: Backup
    accepted: int
    refused: int | None  # the first token that the target does not keep

    def told(self, number: int, position: int, lookahead: int, passes: int, asked: float, arrived: float) -> Drafted:
        return Drafted(
            round=number,
            position=position,
            lookahead=lookahead,
            tokens=tuple(self.tokens),
            confidence=(),
            estimate=(),
            stop="limit",
            source=self.source,
            passes=passes,
            start_ns=ns(asked),
            end_ns=ns(arrived),
            backup=self.backup,
        )


@dataclass(frozen=True)
class Preparing:
    """Steps one after another; the first opens the branches, each other drafts one token in all of them."""

    guessed: bool  # whether the outcome that will come is among the branches
    fanout: tuple[int, ...]
    began: float
    opening: float
    step: float
    depth: int
    predicted_hit: float

    def end(self, depth: int) -> float:
        return self.began + self.opening + depth * self.step

    def seen(self, asked: float) -> tuple[float, int]:
        """When a draft that looks up between its steps sees what was asked, and how deep its branches are then."""
        if not self.depth or asked >= self.end(self.depth):
            return max(asked, self.end(self.depth)), self.depth
        depth = max(0, math.ceil((asked - self.end(0)) / self.step))
        return self.end(depth), depth

    def told(self, number: int, depth: int, idle: float) -> Anticipated:
        return Anticipated(
            round=number,
            branches=(),  # most of them lie where the text does not go
            predicted_hit=self.predicted_hit,
            start_ns=ns(self.began),
            end_ns=ns(self.end(depth)),
            fanout=self.fanout,
            passes=1 + depth,
            busy_ns=ns(self.end(depth) - self.began),
            idle_ns=ns(idle),
            opening_ns=ns(self.opening),
        )
