"""What a simulation is given, and what it gives back. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from decoding.events import Backup
from decoding.ssd.placing import Placed
from decoding.ssd.track import Track


class Planner(Protocol):
    """As `decoding.ssd.planning` has it. Of a draft it looks only at what `Sent` has too."""

    most: int

    @property
    def acceptance(self) -> float: ...
    def tell(self, draft: Any, accepted: int, rank: int | None, echoed: int = 0) -> None: ...
    def place(
        self, draft: Any, estimates: Sequence[float], ranked: Sequence[Sequence[int]], echoed: Sequence[int] = ()
    ) -> Placed: ...


@dataclass(frozen=True)
class Plan:
    """How SSD is set up. Every text gets a planner of its own."""

    lookahead: int
    planner: Callable[[], Planner]
    backup: Backup = "neural"
    without_model: Callable[[Track, int, int], Sequence[int]] | None = None  # place, count -> that backup's tokens
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
    """What a run would have shown; never to be ranked with what was measured. Times are in seconds."""

    label: ClassVar[str] = "simulated"
    placement: str
    prices: str
    tokens: int = 0
    seconds: float = 0.0
    rounds: int = 0  # each is one pass of the target
    hits: int = 0
    misses: int = 0
    drafted: int = 0
    accepted: int = 0
    draft_passes: int = 0  # made while the target waited
    steps: int = 0  # of preparing, opening the branches included
    predicted_hits: float = 0.0
    waiting: float = 0.0  # the target's, between two verifications
    drafting: float = 0.0  # the draft's, answering and preparing
    hidden: float = 0.0  # the part of it that a verification covered

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0

    @property
    def hit_rate(self) -> float | None:
        """Of the rounds that could have hit: the first of a text cannot, nor one that has no room for a draft."""
        return self.hits / (self.hits + self.misses) if self.hits + self.misses else None

    @property
    def hidden_share(self) -> float | None:
        return self.hidden / self.drafting if self.drafting else None
