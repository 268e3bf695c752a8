"""Running means: what policies learn of times and acceptance while they decode. Standard library only."""

from __future__ import annotations

ENOUGH = 3  # values before a mean counts for anything
RECENT = 16  # values that a mean remembers
STALL = 4.0  # times the mean: a longer time was an interruption, and counts as this much


class RunningMean:
    """Mean of recent values, at most so many. It begins at `value`, which weighs as many as `weight` values. `forget`
    is the share that one more value leaves of the weight of those before it."""

    def __init__(
        self, most: float = RECENT, value: float = 0.0, weight: float = 0.0, *, forget: float = 1.0, caps: bool = True
    ) -> None:
        self.count = 0
        self.value = value
        self._most, self._weight, self._forget, self._caps = most, weight, forget, caps

    def add(self, value: float) -> None:
        if self._caps and self.count >= ENOUGH and value > STALL * self.value:
            value = STALL * self.value
        self.count += 1
        weight = self._forget * self._weight + 1.0
        self._weight = weight if weight < self._most else self._most
        self.value += (value - self.value) / self._weight
