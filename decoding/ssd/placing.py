"""Which outcomes get a branch. Pure, standard library only."""

from __future__ import annotations

import heapq
from collections import Counter
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
    return _placed([(k, rank) for k, count in enumerate(wanted) for rank in range(count)], ranked, worth)


def by_worth(branches: int, ranked: Ranked, worth: Worth) -> Placed:
    """The likeliest of all outcomes, whatever their accepted count."""
    every = (
        (value, -k, -rank)
        for k, (tokens, values) in enumerate(zip(ranked, worth, strict=True))
        for rank, (_, value) in enumerate(zip(tokens, values, strict=False))
    )
    return _placed(sorted((-k, -rank) for _, k, rank in heapq.nlargest(branches, every)), ranked, worth)


def _placed(chosen: Sequence[tuple[int, int]], ranked: Ranked, worth: Worth) -> Placed:
    """The tokens at these ranks, where there are so many."""
    taken = [(k, rank) for k, rank in chosen if rank < len(ranked[k])]
    counts = Counter(k for k, _ in taken)
    return Placed(
        outcomes=tuple((k, ranked[k][rank]) for k, rank in taken),
        predicted_hit=min(1.0, sum(worth[k][rank] for k, rank in taken if rank < len(worth[k]))),
        fanout=tuple(counts[k] for k in range(len(ranked))),
    )
