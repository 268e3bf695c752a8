"""What a simulation is given, and what it gives back. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from decoding.events import Anticipated, Backup, Drafted, Event, Finished, Source
from decoding.ssd.accounting import count, rates
from decoding.ssd.policy.fanout import Placed
from decoding.ssd.simulation.track import Track

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


class Planner(Protocol):
    """As `decoding.ssd.policy.planner` has it. Of a draft it looks only at what `Sent` has too."""

    most: int

    @property
    def acceptance(self) -> float: ...
    def tell(self, draft: Any, accepted: int, rank: int | None, echoed: int = 0) -> None: ...
    def place(
        self, draft: Any, estimates: Sequence[float], ranked: Sequence[Sequence[int]], echoed: Sequence[int] = ()
    ) -> Placed: ...


class Pace(Protocol):
    """As `decoding.ssd.policy.pace` has it, by the simulation's own clock."""

    @property
    def price(self) -> float: ...
    def gave(self, at: int | None = None) -> None: ...
    def drafted(self, tokens: int, ns: int) -> None: ...
    def stepped(self, ns: int) -> None: ...
    def interrupts(self, tokens: int, use: float) -> bool: ...
    def use_of_a_token(self, chance: float) -> float: ...
    def since_given(self, asked: int | None = None) -> int: ...
    def judged(self, draft: Any, accepted: int, passed: int) -> None: ...
    def echoed(self, said: Sequence[int], text: Sequence[int]) -> None: ...
    def backup(self, tokens: int) -> Backup: ...


WithoutModel = Callable[[Track, int, int], Sequence[int]]  # place, count -> tokens


@dataclass(frozen=True)
class Plan:
    """How SSD is set up. Every text gets a planner and a pace of its own."""

    lookahead: int
    planner: Callable[[], Planner]
    pace: Callable[[Callable[[], int]], Pace]  # clock, in ns -> what time brings
    without_model: Mapping[Backup, WithoutModel] = field(default_factory=dict)  # the backups that may be chosen
    has_estimates: bool = False  # a classifier's; then
    price_alone: float = 0.0  # a draft goes on while the chance that all of it is accepted is worth more: where the
    price_beside: float = 0.0  # target waits for it, and beside the target


@dataclass(frozen=True)
class Placement:
    """Where the two models run."""

    name: str
    beside: bool  # each on a device of its own; otherwise one waits for the other
    anytime: bool = False  # between steps the draft looks whether the verdict is there, and gives what it has


IN_TURN = Placement("one device, in turn", beside=False)
BESIDE = Placement("two devices, all of the tree", beside=True)
ANYTIME = Placement("two devices, anytime drafting", beside=True, anytime=True)


@dataclass
class Simulated:
    """What a run would have shown; never to be ranked with what was measured. It is traces such as live runs leave, so
    that whatever reads those reads these; drafted tokens that nobody knows are -1 in them."""

    label: ClassVar[str] = "simulated"
    placement: str
    prices: str
    traces: list[Sequence[Event]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(event.end_ns for event in self._ends) * 1e-9

    @property
    def tokens_per_s(self) -> float:
        tokens = sum(event.new_tokens for event in self._ends)
        return tokens / self.seconds if self.seconds else 0.0

    @property
    def rates(self) -> dict[str, Any]:
        """Hits, and how much of drafting was hidden, as `decoding.ssd.accounting` has them of live runs."""
        return rates([counted for trace in self.traces if (counted := count(trace))])

    @property
    def _ends(self) -> list[Finished]:
        return [event for trace in self.traces for event in trace if isinstance(event, Finished)]
