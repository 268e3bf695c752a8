"""Percentiles of waiting times, with 95 % intervals. Standard library only.

An interval runs from one order statistic to another: how many of the values lie below a percentile is a binomial count,
for every distribution. Requests of one prompt are alike, so a prompt
counts once, however many requests, turns or gaps it has. Each interval holds for itself alone. The requests of an open
loop share one queue, so neighbours wait alike: then there are no intervals (docs/decisions/0033).
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

PERCENTILES = (50, 95, 99)
MISSES = 1 / 20  # share of cases in which an interval may miss, half of them on each side


def percentiles(counts: Mapping[float, int], prompts: int) -> dict[str, Any] | None:
    """Percentiles of times, each with how often it occurred, interpolated between the two nearest. `prompts` is the
    number of independent ones among them; 0: they share a queue."""
    ordered = sorted(counts)
    ends = list(itertools.accumulate(counts[value] for value in ordered))
    if not ends:
        return None
    found = {f"p{percent}": _interpolated(ordered, ends, percent / 100) for percent in PERCENTILES}
    return {**found, "intervals": _intervals(ordered, ends, prompts)}


def fewest(percent: int) -> int:
    """Number of prompts that give a percentile an interval."""
    return math.ceil(math.log(MISSES / 2) / math.log(max(percent, 100 - percent) / 100))


def _intervals(ordered: Sequence[float], ends: Sequence[int], prompts: int) -> dict[str, list[float] | None]:
    """`ends` are how many of the values lie at each of the ordered ones or below."""
    found: dict[str, list[float] | None] = {}
    for percent in PERCENTILES:
        ranks = _ranks(prompts, percent)
        if ranks is None:
            found[f"p{percent}"] = None
            continue
        low, high = ((rank * ends[-1]) / prompts for rank in ranks)
        found[f"p{percent}"] = [_at(ordered, ends, math.floor(low) + 1), _at(ordered, ends, math.ceil(high))]
    return found


@lru_cache(maxsize=64)
def _ranks(prompts: int, percent: int) -> tuple[int, int] | None:
    """How many of so many values lie below the interval, and how many up to its end; None if there are too few."""
    if prompts < fewest(percent):
        return None
    below = list(itertools.accumulate(_chance(count, prompts, percent / 100) for count in range(prompts + 1)))
    low = bisect_right(below, MISSES / 2) - 1
    high = next(count for count, chance in enumerate(below, 1) if 1 - chance <= MISSES / 2)
    return low, high


def _chance(count: int, of: int, share: float) -> float:
    """Probability that so many values of so many lie below a percentile."""
    ways = math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1)
    return math.exp(ways + count * math.log(share) + (of - count) * math.log1p(-share))


def _at(ordered: Sequence[float], ends: Sequence[int], rank: int) -> float:
    """The value of so high a rank, 1 for the smallest."""
    return ordered[next(number for number, end in enumerate(ends) if end >= rank)]


def _interpolated(ordered: Sequence[float], ends: Sequence[int], share: float) -> float:
    at = share * (ends[-1] - 1)
    low, high = (_at(ordered, ends, rank + 1) for rank in (math.floor(at), math.ceil(at)))
    return low + (at - math.floor(at)) * (high - low)
