"""Fan-outs: how many branches each accepted count gets. Functions here compute fan-outs, and choose the outcomes that
get a branch by a fan-out or by probabilities. Pure functions, standard library only.

A fan-out is a tuple of lookahead + 1 numbers. Entry k is the number of guesses of the target's next token for the case
that the target accepts exactly k drafted tokens.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.trace import theory

FanOut = tuple[int, ...]
Guesses = Sequence[Sequence[int]]  # for each accepted count: tokens, the target's likeliest first
Probabilities = Sequence[Sequence[float]]  # for each accepted count: the probability of each guess; 0 beyond the list
NAMES = ("uniform", "geometric", "measured")


def uniform(lookahead: int, branches: int) -> FanOut:
    """Give each count equally many branches, and the rest to the last count first: a whole acceptance is likeliest."""
    share, left = divmod(branches, lookahead + 1)
    extra = [lookahead, *range(lookahead)][:left]
    return tuple(share + (k in extra) for k in range(lookahead + 1))


def geometric(lookahead: int, branches: int, acceptance: float, exponent: float) -> FanOut:
    """Give each count a share in proportion to its probability ** (1 / (1 + exponent)).

    This is the optimum if every token has the same acceptance (Theorem 12 of the SSD paper)."""
    acceptance = min(max(acceptance, 0.01), 0.99)
    return _largest_remainder(theory.fan_out(lookahead, branches, acceptance, max(0.05, exponent)))


def measured(probabilities: Probabilities, branches: int) -> FanOut:
    """Give each branch to the count where it adds most. No law is assumed: `probabilities[k][f]` is the probability
    that k tokens are accepted and guess number f, counted from 0, is the target's token."""
    counts = [0] * len(probabilities)
    for _ in range(branches):
        gains = [row[count] if count < len(row) else 0.0 for row, count in zip(probabilities, counts, strict=True)]
        counts[max(range(len(gains)), key=gains.__getitem__)] += 1
    return tuple(counts)


def count_probabilities(acceptances: Sequence[float]) -> list[float]:
    """Turn each token's acceptance, given that all before it are accepted, into the probability of each count."""
    found, survival = [], 1.0
    for acceptance in acceptances:
        found.append(survival * (1.0 - acceptance))
        survival *= acceptance
    return [*found, survival]


def fitted(fanout: FanOut, drafted: int) -> FanOut:
    """Shorten a fan-out for a draft shorter than the lookahead. Its last entry, for a whole acceptance, becomes the sum
    of all entries from there on."""
    return fanout if drafted + 1 >= len(fanout) else (*fanout[:drafted], sum(fanout[drafted:]))


def read(text: str, lookahead: int, branches: int | None) -> tuple[FanOut, FanOut] | None:
    """Parse one list, `5/4/3/0`, or two, `5/4/3/0+12/0/0/0`: the first for rounds after a hit, the second after a miss.
    Returns None for one of NAMES. The first list decides how many `branches` there are if their number is left open.
    If the lists cannot be used, raises ValueError, whose text ends a sentence."""
    if text in NAMES:
        return None
    lists = [tuple(_count(word) for word in part.split("/")) for part in text.split("+")]
    if len(lists) > 2:
        raise ValueError("which are more than two lists: one after a hit, one after a miss")
    for counts in lists:
        if len(counts) != lookahead + 1:
            raise ValueError(f"which has {len(counts)} entries where a lookahead of {lookahead} has {lookahead + 1}")
        branches = sum(counts) if branches is None else branches
        if not branches or sum(counts) != branches:
            raise ValueError(f"which adds up to {sum(counts)} where branches is {branches or 'at least 1'}")
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


# Which outcomes get the branches --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChosenOutcomes:
    """Outcomes that get a branch."""

    outcomes: tuple[tuple[int, int], ...] = ()  # (accepted count, the target's token), by count
    predicted_hit: float = 0.0
    fanout: FanOut = ()
    values: tuple[float, ...] = ()  # the probability of each outcome

    def only(self, numbers: Sequence[int]) -> ChosenOutcomes:
        """Keep these of the outcomes, by their numbers."""
        kept = [self.outcomes[n] for n in numbers]
        return _counted(kept, [self.values[n] for n in numbers], len(self.fanout))


def by_fanout(fanout: FanOut, guesses: Guesses, probabilities: Probabilities) -> ChosenOutcomes:
    """Choose the first guesses of each accepted count, as many as the fan-out says."""
    return _chosen([(k, rank) for k, count in enumerate(fanout) for rank in range(count)], guesses, probabilities)


def by_probability(branches: int, guesses: Guesses, probabilities: Probabilities) -> ChosenOutcomes:
    """Choose the likeliest outcomes, whatever their accepted count."""
    every = (
        (value, -k, -rank)
        for k, (tokens, values) in enumerate(zip(guesses, probabilities, strict=True))
        for rank, (_, value) in enumerate(zip(tokens, values, strict=False))
    )
    ranks = sorted((-k, -rank) for _, k, rank in heapq.nlargest(branches, every))
    return _chosen(ranks, guesses, probabilities)


def _chosen(ranks: Sequence[tuple[int, int]], guesses: Guesses, probabilities: Probabilities) -> ChosenOutcomes:
    """Look up the tokens at these ranks. Ranks beyond a list of guesses are dropped."""
    kept = [(k, rank) for k, rank in ranks if rank < len(guesses[k])]
    values = [probabilities[k][rank] if rank < len(probabilities[k]) else 0.0 for k, rank in kept]
    return _counted([(k, guesses[k][rank]) for k, rank in kept], values, len(guesses))


def _counted(outcomes: Sequence[tuple[int, int]], values: Sequence[float], accepted_counts: int) -> ChosenOutcomes:
    counts = Counter(k for k, _ in outcomes)
    fanout = tuple(counts[k] for k in range(accepted_counts))
    return ChosenOutcomes(tuple(outcomes), min(1.0, sum(values)), fanout, tuple(values))
