"""Bootstrap intervals: a figure computed again from prompts drawn with replacement. Standard library only."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

DRAWS = 400
FEWEST = 4  # prompts; from fewer an interval would mean nothing

T = TypeVar("T")


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> Estimate:
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Estimate(self.value * factor, low, high)


def estimate(parts: Sequence[T], compute: Callable[[Sequence[T]], float], draws: int = DRAWS) -> Estimate:
    """Compute a value from all parts, one for each prompt, with its 95 % percentile interval. Equal counts of parts get
    equal draws, so intervals of several values from the same prompts can be compared."""
    value, dice = compute(parts), random.Random(0)
    if len(parts) < FEWEST:
        return Estimate(value)
    found = sorted(again for _ in range(draws) if math.isfinite(again := compute(dice.choices(parts, k=len(parts)))))
    if not math.isfinite(value) or not found:
        return Estimate(value)
    last = len(found) - 1
    return Estimate(value, found[round(0.025 * last)], found[round(0.975 * last)])


def median(parts: Sequence[float]) -> Estimate:
    return estimate(parts, statistics.median)
