"""Recalibration: correct a classifier's estimates by the verdicts on the same text. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

# Precision of the prior, which holds the offset at 0 and the slope at 1: a classifier that fits must lose nothing.
# Chosen by replay on validation prompts (docs/decisions/0010).
HOLDS_OFFSET, HOLDS_SLOPE = 8.0, 32.0
MOST_OFFSET, LEAST_SLOPE, MOST_SLOPE = 4.0, 0.1, 2.0
EXTREME = 1e-4  # estimates nearer to 0 or 1 count as this far from it


class Recalibration:
    """Offset and slope on the logit of the estimates. Each verdict moves them by one step of Newton's method."""

    def __init__(self) -> None:
        self.offset, self.slope = 0.0, 1.0
        self._precision = (HOLDS_OFFSET, 0.0, HOLDS_SLOPE)  # of offset, of both, of slope

    def corrected(self, estimate: float) -> float:
        return 1.0 / (1.0 + exp(-self.offset - self.slope * logit(estimate)))

    def learn(self, estimates: Sequence[float], accepted: int) -> None:
        """Learn from the verdict on a draft. Tokens after the first refusal were not judged."""
        judged = estimates[: accepted + 1]
        if not judged:
            return
        a, b, c = self._precision
        pull_offset = pull_slope = 0.0
        for number, estimate in enumerate(judged):
            x = logit(estimate)
            p = 1.0 / (1.0 + exp(-self.offset - self.slope * x))
            weight, error = p * (1.0 - p), (number < accepted) - p
            a, b, c = a + weight, b + weight * x, c + weight * x * x
            pull_offset, pull_slope = pull_offset + error, pull_slope + error * x
        self._precision = a, b, c
        span = a * c - b * b
        offset = self.offset + (c * pull_offset - b * pull_slope) / span
        slope = self.slope + (a * pull_slope - b * pull_offset) / span
        self.offset = min(max(offset, -MOST_OFFSET), MOST_OFFSET)
        self.slope = min(max(slope, LEAST_SLOPE), MOST_SLOPE)


def logit(estimate: float) -> float:
    kept = estimate if EXTREME < estimate < 1.0 - EXTREME else min(max(estimate, EXTREME), 1.0 - EXTREME)
    return log(kept / (1.0 - kept))
