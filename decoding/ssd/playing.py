"""What is under way in a simulation, and how it is told in a trace. Standard library only; times are in seconds."""

from __future__ import annotations

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


@dataclass
class Preparing:
    """Steps one after another; the first opens the branches, each other drafts one token in all of them."""

    tokens: int  # of the draft that is being verified
    outcomes: Sequence[tuple[int, int]]
    guessed: bool  # whether the outcome that will come is among them
    fanout: tuple[int, ...]
    predicted_hit: float
    began: float
    opening: float
    step: float
    most: int  # the depth that is wanted
    depth: int = 0
    depth_before: int = 0  # the last step
    passes: int = 0
    busy: float = 0.0
    ended: float = 0.0

    @property
    def is_rounded_off(self) -> bool:
        """Whether the branches' last tokens were read too."""
        return self.passes > 1 + self.depth

    def has_read(self, tokens: int) -> bool:
        """Whether the last of so many tokens of a branch was read."""
        return tokens < self.depth or (self.is_rounded_off and tokens == self.depth)

    @property
    def is_done(self) -> bool:
        return self.depth == self.most

    def open(self) -> None:
        self._take(self.began, self.opening)

    def go_on(self) -> None:
        """One token more in every branch, or, where they are done, their last tokens read."""
        self._take(self.ended, self.step)
        self.depth_before, self.depth = self.depth, min(self.most, self.depth + 1)

    def told(self, number: int, idle: float) -> Anticipated:
        return Anticipated(
            round=number,
            branches=tuple((accepted, token, self.depth) for accepted, token in self.outcomes if self.depth),
            predicted_hit=self.predicted_hit,
            start_ns=ns(self.began),
            end_ns=ns(self.ended),
            fanout=self.fanout,
            passes=self.passes,
            busy_ns=ns(self.busy),
            idle_ns=ns(idle),
            opening_ns=ns(self.opening),
        )

    def _take(self, began: float, seconds: float) -> None:
        self.passes += 1
        self.busy += seconds
        self.ended = began + seconds
