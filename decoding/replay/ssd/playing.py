"""Input of a simulation (`Plan`, `Placement`), what is under way in it, and its result. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.source import Copying
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.replay.at_load import PlayedRun
from decoding.replay.ssd.track import Track
from decoding.ssd.policy.ssd_policy import SsdPolicy, TokenPrices
from decoding.trace.events import Anticipated, Backup, Drafted, Event, Origin

UNSEEN = -1  # a token that is surely not the target's


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


@dataclass(frozen=True)
class Plan:
    """The settings to simulate. Every text gets a policy of its own, as every live sample does."""

    settings: SpeculatorSettings
    token_prices: TokenPrices | None = None  # a classifier's: with them it is `ssd-disco`
    random_tokens: Callable[[int, Sequence[int], int], Sequence[int]] | None = None  # seed, text, count -> tokens
    copier: Callable[[], Copying | None] = lambda: None  # makes the backup of one text, if it copies

    def policy(self, track: Track, clock_ns: Callable[[], int]) -> SsdPolicy:
        random = partial(self.random_tokens, track.seed) if self.random_tokens else None
        policy = SsdPolicy(self.settings, track.written.ends, self.token_prices, random, clock_ns, self.copier)
        policy.read(track.written.prompt)
        return policy


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

    def event(self, number: int, position: int, lookahead: int, passes: int, asked_s: float, arrived_s: float) -> Event:
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
            start_ns=ns(asked_s),
            end_ns=ns(arrived_s),
            backup=self.backup,
        )


@dataclass
class SimulatedPreparation:
    """Steps one after another. The first opens the branches, each other drafts one token in all of them."""

    drafted: int  # tokens of the draft that is being verified
    chosen: ChosenOutcomes
    will_hit: bool  # whether the outcome that will come is among the chosen ones
    began_s: float
    opening_s: float
    step_s: float
    rows: int  # of the passes, over all texts that share them
    most: int  # the depth that is wanted
    depth: int = 0
    depth_before: int = 0  # the last step
    passes: int = 0
    busy_s: float = 0.0
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

    def event(self, number: int, idle_s: float) -> Event:
        outcomes = self.chosen.outcomes if self.depth else ()
        return Anticipated(
            round=number,
            branches=tuple((accepted, token, self.depth) for accepted, token in outcomes),
            predicted_hit=self.chosen.predicted_hit,
            start_ns=ns(self.began_s),
            end_ns=ns(self.ended_s),
            fanout=self.chosen.fanout,
            pass_rows=self.rows,
            passes=self.passes,
            busy_ns=ns(self.busy_s),
            idle_ns=ns(idle_s),
            opening_ns=ns(self.opening_s),
        )

    def _work(self, began_s: float, took_s: float) -> None:
        self.passes += 1
        self.busy_s += took_s
        self.ended_s = began_s + took_s


@dataclass
class Simulated(PlayedRun):
    """Requests, and of texts that were played alone traces such as a live run would leave, so that whatever reads those
    reads these. Drafted tokens that nobody knows are -1. A simulation is never ranked with what was measured."""

    label: ClassVar[str] = "simulated"
    traces: list[Sequence[Event]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(request.end for request in self.requests)

    @property
    def hit_rate(self) -> float | None:
        """Share of hits in the verdicts that a draft followed; None if no verdict was."""
        sources = Counter(one.source for request in self.requests for one in request.rounds)
        asked = sources["hit"] + sources["miss"]
        return sources["hit"] / asked if asked else None
