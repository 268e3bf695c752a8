"""What the SSD paper's formulas say, to stand beside what was measured. Standard library only.

Times are in units of one verification, tokens are those that one round adds to the text. A round's draft was either
prepared while the target verified (a hit) or is made while the target waits (a miss). Theorems and corollaries are
numbered as in "Speculative Speculative Decoding", arXiv 2603.03251.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Speculation:
    """One pair under SSD. Ordinary speculative decoding is the case without hits: `without_hits`."""

    hit_rate: float
    tokens_on_hit: float
    tokens_on_miss: float
    preparing: float  # what it takes to prepare the next drafts, beside a verification
    backup: float  # what it takes to draft after a miss, while the target waits

    @property
    def tokens(self) -> float:
        """Tokens per round: those of a hit as often as there is one, otherwise those of a miss."""
        return self.hit_rate * self.tokens_on_hit + (1 - self.hit_rate) * self.tokens_on_miss

    def duration(self, batch: int = 1) -> float:
        """One round. When all hit, the longer of verifying and preparing; else a verification and the backup, for
        which the whole batch waits."""
        all_hit = self.hit_rate**batch
        return all_hit * max(1.0, self.preparing) + (1 - all_hit) * (1 + self.backup)

    def speedup(self, batch: int = 1) -> float:
        """Over autoregressive decoding, which gives one token per verification: tokens per round by its duration.
        Theorem 7; for each text of a batch, Corollary 16."""
        return self.tokens / self.duration(batch)

    def over(self, other: Speculation, batch: int = 1) -> float:
        """Over another way of speculating with the same target."""
        return self.speedup(batch) / other.speedup(batch)


def without_hits(tokens: float, drafting: float) -> Speculation:
    """Draft, then verify, in turn: every round waits for its draft."""
    return Speculation(0.0, tokens, tokens, 0.0, drafting)


def most_over(plain: Speculation, tokens_on_hit: float) -> float:
    """The most that SSD can be over `plain`: all of its drafting hidden, every round a hit. Corollary 9."""
    return (1 + plain.backup) * tokens_on_hit / plain.tokens


def tokens_per_round(acceptance: float, lookahead: int) -> float:
    """If every drafted token is accepted with the same probability, whatever came before: the geometric series of it,
    from the round's own token to the last drafted."""
    return math.fsum(acceptance**k for k in range(lookahead + 1))


def hit_rate(fan_out: Sequence[int], probabilities: Sequence[float], covered: Callable[[int, int], float]) -> float:
    """What a fan-out is expected to hit: over accepted counts, the probability of the count by the chance that its
    branches hold the target's token. `covered(count, branches)` is that chance."""
    return sum(
        probability * covered(count, branches)
        for count, (probability, branches) in enumerate(zip(probabilities, fan_out, strict=True))
    )


def long_run_hit_rate(after_hit: float, after_miss: float) -> float:
    """Where a hit's draft and a miss's come from different drafters, they are hit with different chances; this is
    how often rounds hit once the beginning is forgotten: the chance after a miss, by one less the chance after a hit
    and that after a miss."""
    return after_miss / (1 - after_hit + after_miss)


@dataclass(frozen=True)
class PowerLaw:
    """How often the target's token is not among a position's branches: prefactor by branches to minus the exponent.
    The paper's Definition 11 has no prefactor, which would have one branch never hit; its own curves need one."""

    prefactor: float
    exponent: float

    def miss(self, branches: int) -> float:
        return min(1.0, self.prefactor * branches**-self.exponent) if branches else 1.0

    def covered(self, count: int, branches: int) -> float:
        """As `hit_rate` asks: the same at every accepted count."""
        return 1.0 - self.miss(branches)


def power_law(misses: Mapping[int, float]) -> PowerLaw:
    """The straight line through miss rates by number of branches, both as logarithms. Rates of zero say nothing
    about a slope and are left out; with fewer than two points there is none."""
    points = {branches: miss for branches, miss in misses.items() if branches and miss > 0}
    if len(points) < 2:
        return PowerLaw(next(iter(points.values()), 0.0), 0.0)
    slope, intercept = statistics.linear_regression(
        [math.log(branches) for branches in points], [math.log(miss) for miss in points.values()]
    )
    return PowerLaw(math.exp(intercept), -slope)
