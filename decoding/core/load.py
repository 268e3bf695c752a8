"""Load: how many requests a contestant has to serve at once, and when they arrive. Standard library only.

A closed loop has a number of users: each asks again as soon as it has its answer. An open loop has a rate: requests
arrive whether the earlier ones are answered or not, at random times or at those of a log.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from decoding.errors import BadLoad

MOST_USERS = 256
MOST_AT_ONCE = 64  # texts in an open loop; later requests wait
RATES = (0.001, 10_000.0)  # requests per second


@dataclass(frozen=True, slots=True, order=True)
class Load:
    concurrency: int = 1  # users of a closed loop
    rate: float = 0.0  # requests per second of an open loop; 0: closed
    recorded: bool = False  # whether requests arrive as in their log, which `rate` stretches
    seed: int = field(default=0, compare=False)  # of the random times

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= MOST_USERS:
            raise BadLoad(f"concurrency is {self.concurrency}; it must lie between 1 and {MOST_USERS}.")
        if self.rate and not RATES[0] <= self.rate <= RATES[1]:  # NaN fails too
            raise BadLoad(f"rate is {self.rate:g}; it must lie between {RATES[0]:g} and {RATES[1]:,.0f} requests/s.")

    @property
    def is_open(self) -> bool:
        return self.rate > 0

    @property
    def most_at_once(self) -> int:
        """How many texts may be decoded together."""
        return MOST_AT_ONCE if self.is_open else self.concurrency

    @property
    def suffix(self) -> str:
        """The end of a label; empty for one user."""
        if self.is_open:
            return f" @{self.rate:g}/s" + (" recorded" if self.recorded else "")
        return f" @{self.concurrency}" if self.concurrency > 1 else ""

    def __str__(self) -> str:
        if self.is_open:
            return f"{self.rate:g} requests/s" + (" as recorded" if self.recorded else "")
        return f"{self.concurrency} at once" if self.concurrency > 1 else "1 at a time"


ONE = Load()


def loads(
    concurrencies: Sequence[int],
    rates: Sequence[float],
    speeds: Sequence[float] = (),
    arrivals: Sequence[float | None] = (),
) -> tuple[Load, ...]:
    """All loads of a comparison, lightest first; one user if none is named. Refuse a load that is named twice.

    `speeds` ask for the arrivals of a log: 1 as recorded, 2 twice as fast. `arrivals` are when its requests came, in
    seconds."""
    if not all(rate for rate in rates):
        raise BadLoad(f"rate is 0; it must lie between {RATES[0]:g} and {RATES[1]:,.0f} requests/s.")
    closed, random_times = [Load(users) for users in concurrencies], [Load(rate=rate) for rate in rates]
    found = [*closed, *random_times, *(as_recorded(arrivals, speed) for speed in speeds)] or [ONE]
    names = [str(load) for load in found]  # rates that differ in the seventh digit have the same label
    for load in found:
        if names.count(str(load)) > 1:
            raise BadLoad(f"The load {load} is named twice; name it once.")
    return tuple(sorted(found, key=lambda load: (load.is_open, load)))


def as_recorded(arrivals: Sequence[float | None], speed: float) -> Load:
    """Return the load of a log that is played at a speed. Its rate is the log's mean times the speed."""
    if not 0 < speed < math.inf:
        raise BadLoad(f"The speed of recorded arrivals is {speed:g}; it must lie above 0.")
    rate = mean_rate(arrivals) * speed
    if not RATES[0] <= rate <= RATES[1]:
        raise BadLoad(
            f"Played at {speed:g} times its speed, the log has {rate:.3g} requests/s, and a rate must lie between "
            f"{RATES[0]:g} and {RATES[1]:,.0f}. Choose another speed."
        )
    return Load(rate=rate, recorded=True)


def mean_rate(arrivals: Sequence[float | None]) -> float:
    """Return how many requests of a log arrived per second."""
    known = [at for at in arrivals if at is not None]
    if len(known) < len(arrivals) or not known:
        raise BadLoad(
            f"{len(arrivals) - len(known)} of {len(arrivals)} prompts have no timestamp, so there are no recorded "
            "arrivals. Take a request log whose rows all have one, or name a rate."
        )
    if min(known) == max(known):
        raise BadLoad("All requests of the log have one timestamp, so it has no rate. Name a concurrency instead.")
    return (len(known) - 1) / (max(known) - min(known))


def due_times(arrivals: Sequence[float | None], load: Load, log: Sequence[float | None]) -> list[int]:
    """Return when these requests of a log are due, in ns after the first of them, at the rate of the load."""
    stretch, known = mean_rate(log) / load.rate, [at or 0.0 for at in arrivals]
    return [round((at - min(known)) * stretch * 1e9) for at in known]


Item = TypeVar("Item")
NAP = 0.02  # s, between two looks at whether the run was cancelled


@dataclass(frozen=True, slots=True)
class Arrived(Generic[Item]):
    request: Item
    at_ns: int  # since the load began


class RequestQueue(Generic[Item]):
    """Requests that arrive by a load and wait to be taken. Every strategy meets the same arrivals. For a load as
    recorded each request says by `due_ns` when it is due."""

    def __init__(self, requests: Iterable[Item], load: Load) -> None:
        self._requests = iter(self._timed(requests) if load.recorded else requests)
        self._load = load
        self._random = random.Random(f"arrivals {load.rate:g} {load.seed}")
        self._due = 0  # when the next request of an open loop arrives
        self._waiting: deque[Arrived[Item]] = deque()
        self._outstanding = 0
        self._is_dry = False

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    @property
    def is_over(self) -> bool:
        """Whether nothing waits and nothing will come."""
        return self._is_dry and not self._waiting

    def arrive(self, now: int) -> None:
        """Let those requests wait that have arrived by now."""
        while not self._is_dry and (at := self._arrival(now)) is not None:
            self._arrive(at)

    def take(self) -> Arrived[Item]:
        """Take the request that has waited longest."""
        return self._waiting.popleft()

    def answered(self) -> None:
        """Note that a request has its answer, so that its user may ask again."""
        self._outstanding -= 1

    @property
    def due_ns(self) -> int:
        """When the next request of an open loop arrives, since the load began."""
        return self._due

    def wait(self, now: Callable[[], int], cancelled: Callable[[], bool]) -> None:
        """Sleep until the next request of an open loop arrives."""
        while not self.is_over and not cancelled() and (left := self._due - now()) > 0:
            time.sleep(min(NAP, left / 1e9))

    def _timed(self, requests: Iterable[Item]) -> Iterator[Item]:
        """Read one request ahead, for its time."""
        source = iter(requests)
        following = next(source, None)
        while (request := following) is not None:
            if (following := next(source, None)) is not None:
                self._due = following.due_ns  # type: ignore[attr-defined]
            yield request

    def _arrival(self, now: int) -> int | None:
        """Return when the next request arrived, or None if it has not. Users without an answer ask for nothing."""
        if self._load.is_open:
            return self._due if self._due <= now else None
        return now if self._outstanding < self._load.concurrency else None

    def _arrive(self, at: int) -> None:
        for request in self._requests:
            self._waiting.append(Arrived(request, at))
            self._outstanding += 1
            if self._load.is_open and not self._load.recorded:
                self._due += round(self._random.expovariate(self._load.rate) * 1e9)
            return
        self._is_dry = True
