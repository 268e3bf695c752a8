"""What a simulation is given, and what it gives back. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from decoding.events import Backup, Event, Finished
from decoding.ssd.hits import count, rates
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


class Pace(Protocol):
    """As `decoding.ssd.pace` has it, by the simulation's own clock."""

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
        """Hits, and how much of drafting was hidden, as `decoding.ssd.hits` has them of live runs."""
        return rates([counted for trace in self.traces if (counted := count(trace))])

    @property
    def _ends(self) -> list[Finished]:
        return [event for trace in self.traces for event in trace if isinstance(event, Finished)]
