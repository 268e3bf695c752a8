"""Drift: how far a classifier's estimates lie from what a run accepted. Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp
from typing import Any

from decoding.drafting.recalibration import logit

Bin = tuple[int, int, int, float]  # rounded logit of the estimates, tokens, of these accepted, sum of the estimates

STEPS = 25  # of Newton's method
HELD = 1.0  # precision that holds offset and slope at 0 and 1, for runs of few tokens
STEEPEST, FARTHEST = 4.0, 9.0


def binned(judged: Iterable[tuple[Sequence[float], int]]) -> tuple[Bin, ...]:
    """Bin the estimates of drafts with the number of tokens that the target accepted. Later tokens were not judged."""
    found: dict[int, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for estimates, accepted in judged:
        for number, estimate in enumerate(estimates[: accepted + 1]):
            one = found[round(logit(estimate))]
            one[0] += 1
            one[1] += number < accepted
            one[2] += estimate
    return tuple((at, int(n), int(yes), total) for at, (n, yes, total) in sorted(found.items()))


def drift(bins: Iterable[Sequence[Any]]) -> dict[str, Any] | None:
    """Return offset and slope that would have corrected the estimates, how far these were off, before and after, and a
    sentence; None without estimates."""
    added: dict[int, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for at, *counts in bins:
        added[at] = [sum(pair) for pair in zip(added[at], counts, strict=True)]
    rows = [(tokens, accepted, total / tokens) for tokens, accepted, total in added.values() if tokens]
    if not rows:
        return None
    offset, slope = _fitted(rows)
    tokens = sum(n for n, _, _ in rows)
    off = sum(abs(n * mean - yes) for n, yes, mean in rows) / tokens
    corrected = [(n, yes, _sigmoid(offset + slope * logit(mean))) for n, yes, mean in rows]
    left = sum(abs(n * mean - yes) for n, yes, mean in corrected) / tokens
    return {
        "tokens": int(tokens),
        "offset": offset,
        "slope": slope,
        "calibration_error": off,
        "corrected_error": left,
        "sentence": f"the classifier's estimates were off by {off:.3f} on average over {tokens:,} tokens of this run. "
        f"With offset {offset:+.2f} and slope {slope:.2f} on the logit they would be off by {left:.3f}. "
        "Offset 0 and slope 1 mean no drift.",
    }


def _fitted(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    offset, slope = 0.0, 1.0
    for _ in range(STEPS):
        a, b, c, g, h = HELD, 0.0, HELD, -HELD * offset, HELD * (1.0 - slope)
        for tokens, accepted, mean in rows:
            x = logit(mean)
            p = _sigmoid(offset + slope * x)
            weight, error = tokens * p * (1.0 - p), accepted - tokens * p
            a, b, c = a + weight, b + weight * x, c + weight * x * x
            g, h = g + error, h + error * x
        span = a * c - b * b
        offset = min(max(offset + (c * g - b * h) / span, -FARTHEST), FARTHEST)
        slope = min(max(slope + (a * h - b * g) / span, -STEEPEST), STEEPEST)
    return offset, slope


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + exp(-x))
