"""What is under way in a simulation, and its result. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.replay.at_load import PlayedRun
from decoding.trace.events import Backup, Origin

UNSEEN = -1  # a token that is surely not the target's


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


@dataclass(frozen=True)
class SimulatedDraft:
    """The draft that is with the target."""

    tokens: Sequence[int]  # UNSEEN where only their number is known
    source: Origin
    backup: Backup
    accepted: int
    refused: int | None  # the first token that the target does not keep
    chances: Sequence[float] = ()  # of copied tokens


@dataclass
class SimulatedPreparation:
    """Steps one after another. The first opens the branches, each other drafts one token in all of them."""

    drafted: int  # tokens of the draft that is being verified
    will_hit: bool  # whether the outcome that will come is among the chosen ones
    began_s: float
    opening_s: float
    step_s: float
    rows: int  # of the passes, over all texts that share them
    most: int  # the depth that is wanted
    depth: int = 0
    depth_before: int = 0  # the last step
    passes: int = 0
    ended_s: float = 0.0

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
        self._work(self.began_s, self.opening_s)

    def step(self) -> None:
        """Draft one more token in every branch, or read their last tokens if they are done."""
        self._work(self.ended_s, self.step_s)
        self.depth_before, self.depth = self.depth, min(self.most, self.depth + 1)

    def _work(self, began_s: float, took_s: float) -> None:
        self.passes += 1
        self.ended_s = began_s + took_s


@dataclass
class Simulated(PlayedRun):
    """A simulation is never ranked with what was measured."""

    @property
    def seconds(self) -> float:
        return sum(request.end for request in self.requests)

    @property
    def hit_rate(self) -> float | None:
        """Share of hits in the verdicts that a draft followed; None if no verdict was."""
        sources = Counter(one.source for request in self.requests for one in request.rounds)
        asked = sources["hit"] + sources["miss"]
        return sources["hit"] / asked if asked else None
