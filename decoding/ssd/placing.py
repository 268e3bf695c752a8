"""Which outcomes get a branch. Pure, standard library only."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Placed:
    outcomes: tuple[tuple[int, int], ...] = ()  # (accepted count, the target's token), by count
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()


Ranked = Sequence[Sequence[int]]  # for each accepted count, tokens, the target's likeliest first
Worth = Sequence[Sequence[float]]  # for each accepted count, the probability of each rank; what lies behind is nothing


def by_fanout(wanted: Sequence[int], ranked: Ranked, worth: Worth) -> Placed:
    """So many of the likeliest tokens for each accepted count."""
    return _placed(ranked, worth, wanted)


def by_worth(branches: int, ranked: Ranked, worth: Worth) -> Placed:
    """The likeliest of all outcomes, whatever their accepted count."""
    best = heapq.nlargest(
        branches,
        (
            (value, -k)
            for k, (tokens, values) in enumerate(zip(ranked, worth, strict=True))
            for value, _ in zip(values, tokens, strict=False)
        ),
    )
    counts = [0] * len(ranked)
    for _, k in best:
        counts[-k] += 1
    return _placed(ranked, worth, counts)


def _placed(ranked: Ranked, worth: Worth, counts: Sequence[int]) -> Placed:
    taken = [min(count, len(tokens)) for count, tokens in zip(counts, ranked, strict=True)]
    return Placed(
        outcomes=tuple((k, token) for k, count in enumerate(taken) for token in ranked[k][:count]),
        predicted_hit=min(1.0, sum(sum(worth[k][:count]) for k, count in enumerate(taken))),
        fanout=tuple(taken),
    )
