"""Input of a simulation (`Track`, `Placement`), what is under way in it, and its result. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.drafting.records import RecordedText, Written
from decoding.replay.at_load import PlayedRun
from decoding.ssd.policy.ssd_policy import worth_keeping
from decoding.trace.events import Backup, Origin

UNSEEN = -1  # a token that is surely not the target's


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


NOT_WRITTEN = Written((), (), 0)


@dataclass(frozen=True)
class Track(RecordedText):
    """Recorded text with what the draft preferred along it."""

    written: Written = NOT_WRITTEN
    preferred: Sequence[Sequence[int]] = ()  # at each position, the draft's best tokens, best first
    seed: int = 0  # of the sample's dice
    estimates: Sequence[Sequence[float]] = ()  # at each position, the classifier's for each token of a draft there
    echoes: Sequence[tuple[int, int]] = ()  # at each position, the echo and the length of its context, 0 for none

    def length(
        self, at: int, longest: int, corrected: Callable[[float], float], price: float = 0.0, drafted: int = 0
    ) -> int:
        """Number of tokens that the draft model drafts there: until an end token, until there is no room, or until the
        chance that all are accepted, by corrected estimates, falls below the price. It does not stop within the first
        `drafted` tokens."""
        longest = min(longest, self.record.limits[at])
        if not self.estimates:
            return longest
        return min(longest, worth_keeping(map(corrected, self.estimates[at]), price, longest, drafted))

    def ends_itself(self, at: int, drafted: int) -> bool:
        """Whether a draft of so many tokens, shorter than there is room for, ends with an end token."""
        return drafted == self.record.limits[at] < self.written.room - at - 1


@dataclass(frozen=True)
class Placement:
    """Devices of the two models."""

    name: str
    beside: bool  # each on a device of its own; otherwise one waits for the other
    anytime: bool = False  # between steps the draft looks whether the verdict is there, and gives what it has


IN_TURN = Placement("one device, in turn", beside=False)
BESIDE = Placement("two devices, all of the tree", beside=True)
ANYTIME = Placement("two devices, anytime drafting", beside=True, anytime=True)


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
