"""Times of one request, read from its trace. Standard library only.

They count from its arrival. Tokens come in bursts, one per verification, so a gap is the time between two bursts as a
user would see it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from decoding.trace.events import Delivered, Event, Started, Verified

PER_OCTAVE = 32  # bins of gaps: each 2.2 % wide
Gaps = tuple[tuple[int, int], ...]  # bin, and how many gaps are in it


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one request, in ns."""

    arrived_ns: int = 0  # since the load began
    queued_ns: int = 0  # from arrival until decoding began
    first_ns: int = 0  # from arrival to the first token
    gaps: Gaps = ()


UNKNOWN = Timing()


def timing(events: Iterable[Event]) -> Timing:
    """Read a request's times from its trace."""
    started, bursts = Started(0, 0), list[int]()
    for event in events:
        if isinstance(event, Started):
            started = event
        elif isinstance(event, (Verified, Delivered)):
            bursts.append(event.end_ns)
    gaps = Counter(_bin(later - earlier) for earlier, later in itertools.pairwise(bursts))
    first = started.queued_ns + (bursts[0] if bursts else 0)
    return Timing(started.arrived_ns, started.queued_ns, first, tuple(sorted(gaps.items())))


def _bin(gap_ns: int) -> int:
    return round(PER_OCTAVE * math.log2(max(1, gap_ns)))


def gap_in_bin(number: int) -> float:
    return float(2 ** (number / PER_OCTAVE))
