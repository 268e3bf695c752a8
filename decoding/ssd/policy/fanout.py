"""How many branches each accepted count gets. Pure, standard library only.

A fan-out is a tuple of lookahead + 1 numbers: entry k, how many of the target's tokens are guessed for the case that
exactly k drafted tokens are accepted.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

FanOut = tuple[int, ...]
NAMES = ("uniform", "geometric", "measured")


def uniform(lookahead: int, branches: int) -> FanOut:
    """The same for every count. What does not divide goes to the last first: all accepted is the likeliest case."""
    share, left = divmod(branches, lookahead + 1)
    extra = [lookahead, *range(lookahead)][:left]
    return tuple(share + (k in extra) for k in range(lookahead + 1))


def geometric(lookahead: int, branches: int, acceptance: float, exponent: float) -> FanOut:
    """The best there is if each token is accepted with the same probability and the chance that F guesses miss falls
    as F to the minus exponent (Theorem 12 of the SSD paper): in proportion to the case's probability to the power of
    1 / (1 + exponent)."""
    acceptance = min(max(acceptance, 0.01), 0.99)
    weights = [p ** (1 / (1 + exponent)) for p in chances([acceptance] * lookahead)]
    return _largest_remainder([branches * weight / sum(weights) for weight in weights])


def measured(worth: Sequence[Sequence[float]], branches: int) -> FanOut:
    """Each branch goes where it adds most, and no law is needed: `worth[k][f]` is the probability that k tokens are
    accepted and guess number f, counted from 0, is the target's."""
    counts = [0] * len(worth)
    for _ in range(branches):
        gains = [row[count] if count < len(row) else 0.0 for row, count in zip(worth, counts, strict=True)]
        counts[max(range(len(gains)), key=gains.__getitem__)] += 1
    return tuple(counts)


def chances(accepted: Sequence[float]) -> list[float]:
    """From each token's chance to be accepted once all before it are: the chance of each accepted count."""
    found, survival = [], 1.0
    for chance in accepted:
        found.append(survival * (1.0 - chance))
        survival *= chance
    return [*found, survival]


def exponent(miss: Callable[[int], float], counts: Sequence[int] = (1, 2, 4, 8)) -> float:
    """The power by which misses fall with the number of guesses: the slope through their logarithms. The factor in
    front, which real curves have and the theorem has not, does not change the shape of a fan-out."""
    x = [math.log(count) for count in counts]
    y = [math.log(max(miss(count), 1e-6)) for count in counts]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    return max(0.05, -slope)


def fitted(fanout: FanOut, drafted: int) -> FanOut:
    """A fan-out for a draft that is shorter than the lookahead: its last entry still is that of a whole acceptance."""
    return fanout if drafted + 1 >= len(fanout) else (*fanout[:drafted], sum(fanout[drafted:]))


def read(text: str, lookahead: int, branches: int) -> tuple[FanOut, FanOut] | None:
    """`5/4/3/0`, or one list after a hit and one after a miss, `5/4/3/0+12/0/0/0`. None where it is one of NAMES;
    ValueError with the reason, as the end of a sentence, where it cannot be used."""
    if text in NAMES:
        return None
    lists = [tuple(_count(word) for word in part.split("/")) for part in text.split("+")]
    if len(lists) > 2:
        raise ValueError("which are more than two lists: one after a hit, one after a miss")
    for counts in lists:
        if len(counts) != lookahead + 1:
            raise ValueError(f"which has {len(counts)} entries where a lookahead of {lookahead} has {lookahead + 1}")
        if sum(counts) != branches:
            raise ValueError(f"which adds up to {sum(counts)} where branches is {branches}")
    return lists[0], lists[-1]


def _count(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 4:
        raise ValueError(f"which is neither {', '.join(NAMES)} nor a list of counts such as 5/4/3")
    return int(word)


def _largest_remainder(shares: Sequence[float]) -> FanOut:
    counts = [math.floor(share) for share in shares]
    left = round(sum(shares)) - sum(counts)
    for k in sorted(range(len(shares)), key=lambda k: counts[k] - shares[k])[:left]:
        counts[k] += 1
    return tuple(counts)


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
