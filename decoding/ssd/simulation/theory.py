"""Formulas of the SSD paper, to compare with what was measured. Standard library only.

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
    preparing: float  # time to prepare the next drafts, beside a verification
    backup: float  # time to draft after a miss, while the target waits

    @property
    def tokens(self) -> float:
        """Mean tokens per round."""
        return self.hit_rate * self.tokens_on_hit + (1 - self.hit_rate) * self.tokens_on_miss

    def duration(self, batch: int = 1) -> float:
        """Time of one round. If all texts hit, the longer of verifying and preparing; otherwise a verification and the
        backup, for which the whole batch waits."""
        all_hit = self.hit_rate**batch
        return all_hit * max(1.0, self.preparing) + (1 - all_hit) * (1 + self.backup)

    def speedup(self, batch: int = 1) -> float:
        """Speed-up over autoregressive decoding, which gives one token per verification. Theorem 7; for each text of a
        batch, Corollary 16."""
        return self.tokens / self.duration(batch)

    def over(self, other: Speculation, batch: int = 1) -> float:
        """Speed-up over another way to speculate with the same target."""
        return self.speedup(batch) / other.speedup(batch)


def without_hits(tokens: float, drafting: float) -> Speculation:
    """Ordinary speculative decoding: every round waits for its draft."""
    return Speculation(0.0, tokens, tokens, 0.0, drafting)


def most_over(plain: Speculation, tokens_on_hit: float) -> float:
    """The most that SSD can be over `plain`: all of its drafting hidden, every round a hit. Corollary 9."""
    return (1 + plain.backup) * tokens_on_hit / plain.tokens


def tokens_per_round(acceptance: float, lookahead: int) -> float:
    """Mean tokens per round if every drafted token has the same acceptance: a geometric series."""
    return math.fsum(acceptance**k for k in range(lookahead + 1))


def hit_rate(fan_out: Sequence[int], probabilities: Sequence[float], covered: Callable[[int, int], float]) -> float:
    """Expected hit rate of a fan-out. `probabilities` are those of the accepted counts (`fanout.count_probabilities`);
    `covered(count, branches)` is the chance that a count's branches hold the target's token."""
    return sum(
        probability * covered(count, branches)
        for count, (probability, branches) in enumerate(zip(probabilities, fan_out, strict=True))
    )


def long_run_hit_rate(after_hit: float, after_miss: float) -> float:
    """Hit rate in the long run, if rounds after a hit and after a miss hit with different chances, because different
    drafters made their drafts."""
    return after_miss / (1 - after_hit + after_miss)


@dataclass(frozen=True)
class PowerLaw:
    """Miss rate by number of branches: prefactor * branches ** -exponent. Without a prefactor, as in the paper's
    Definition 11, one branch would never hit; the paper's own curves need one."""

    prefactor: float
    exponent: float

    def miss(self, branches: int) -> float:
        return min(1.0, self.prefactor * branches**-self.exponent) if branches else 1.0

    def covered(self, count: int, branches: int) -> float:
        """The chance that `hit_rate` asks for, the same at every accepted count."""
        return 1.0 - self.miss(branches)


def power_law(misses: Mapping[int, float]) -> PowerLaw:
    """Fit a power law to miss rates by number of branches. Rates of 0 are left out; fewer than two points have no
    slope."""
    points = {branches: miss for branches, miss in misses.items() if branches and miss > 0}
    if len(points) < 2:
        return PowerLaw(next(iter(points.values()), 0.0), 0.0)
    slope, intercept = statistics.linear_regression(
        [math.log(branches) for branches in points], [math.log(miss) for miss in points.values()]
    )
    return PowerLaw(math.exp(intercept), -slope)
