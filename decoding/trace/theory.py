"""Formulas of the SSD paper, to compare with what was measured. Standard library only.

Times are in units of one verification, tokens are those that one round adds to the text. A round's draft was either
prepared while the target verified (a hit) or is made while the target waits (a miss). Theorems and corollaries are
numbered as in "Speculative Speculative Decoding", arXiv 2603.03251:

Theorem 7          `Speculation.speedup`: over autoregressive
Corollary 9        `most_over` and `least_over`: the bounds of the speed-up over ordinary speculative decoding
Definition 11      `PowerLaw`, with a prefactor
Theorem 12         `fan_out`: branches by accepted count
Corollary 16       `Speculation.speedup` with a batch
Theorem 17         `critical_batch`: from which batch size on a fast backup is better
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

FITTED = (1, 2, 4, 8)  # fan-outs to which a power law is fitted
MOST_BATCH = 4096  # of a search for the critical batch size


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


def without_hits(tokens: float, drafting: float) -> Speculation:
    """Ordinary speculative decoding: every round waits for its draft."""
    return Speculation(0.0, tokens, tokens, 0.0, drafting)


def most_over(plain: Speculation, tokens_on_hit: float) -> float:
    """The most that SSD can be over `plain`: all of its drafting hidden, every round a hit. Corollary 9."""
    return (1 + plain.backup) * tokens_on_hit / plain.tokens


def least_over(plain: Speculation, hit_rate: float, tokens_on_hit: float) -> float:
    """The least that SSD is over `plain` if preparing is hidden and the draft model is the backup. Corollary 9 as two
    readers of the paper cite it."""
    return most_over(plain, tokens_on_hit) / (1 + plain.backup * (1 - hit_rate))


def critical_batch(neural: Speculation, fast: Speculation) -> float:
    """First batch size at which `fast` is the better backup, infinity if there is none. Theorem 17; the paper's own
    closed form was not found."""
    better = (batch for batch in range(1, MOST_BATCH + 1) if fast.speedup(batch) >= neural.speedup(batch))
    return float(next(better, math.inf))


def fan_out(lookahead: int, branches: float, acceptance: float, exponent: float) -> list[float]:
    """Branches for each accepted count, not rounded: the paper's capped geometric series. Theorem 12: the optimum if
    every token has the same acceptance, above 0 and below 1, and F guesses miss with a probability that falls as
    F ** -exponent."""
    shares = [acceptance ** (count / (1 + exponent)) for count in range(lookahead + 1)]
    shares[-1] *= (1 - acceptance) ** (-1 / (1 + exponent))
    return [branches * share / sum(shares) for share in shares]


@dataclass(frozen=True)
class PowerLaw:
    """Miss rate by number of branches: prefactor * branches ** -exponent. Without a prefactor, as in the paper's
    Definition 11, one branch would never hit; the paper's own curves need one."""

    prefactor: float
    exponent: float


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
