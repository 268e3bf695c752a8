"""Parts that figures share: the oracle's rounds, fan-outs fitted to recorded outcomes, and speeds by the SSD paper's
formulas at prices measured here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from decoding.choice import choose
from decoding.drafting import fan_outs as fanout
from decoding.drafting.fan_outs import FanOut
from decoding.drafting.strategy import LONGEST
from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import Evidence, Series
from decoding.papers.outcomes import Outcomes, OutcomeTally, guesses, play, total
from decoding.papers.settings import BATCHES
from decoding.strategies import BASELINE, oracle, static
from decoding.trace.theory import Speculation, power_law, without_hits
from decoding.words import change

if TYPE_CHECKING:
    from decoding.prices.cost_model import CostModel

LOOKAHEAD, BUDGET = 7, 24  # of the reference code's commands: three branches for each accepted count
DEEPEST = 8  # lookaheads among which the best is taken
FITTED = (1, 2, 4, 8)  # fan-outs to which a power law is fitted
NOT_RUN = "Nothing is run: this machine has no second core for the draft."
NOT_READ = "The paper's points could not be read."
NOT_SEEN = "Nobody here has seen this figure of the paper, so ours shows what the text around it is about."

Tallies = Sequence[OutcomeTally]
Law = tuple[float, float]  # acceptance of a drafted token, and the power by which misses fall with the fan-out
AUTOREGRESSIVE = choose(BASELINE)
ORACLE = choose(oracle.STRATEGY.slug, {"cap": LONGEST})
STATICS = [choose(static.STRATEGY.slug, {"lookahead": n}) for n in range(1, LONGEST + 1)]


def uniform(each: int, lookahead: int = LOOKAHEAD) -> FanOut:
    return (each,) * (lookahead + 1)


def played(outcomes: Sequence[Outcomes], fan: FanOut, backup: FanOut | None = None) -> list[OutcomeTally]:
    return [play(one, fan, backup) for one in outcomes]


def hit_rate(tallies: Tallies) -> Estimate:
    return estimate(tallies, lambda part: total(part).hit_rate)


def acceptance(outcomes: Sequence[Outcomes]) -> float:
    return total(played(outcomes, uniform(0))).acceptance


def exponent(outcomes: Sequence[Outcomes]) -> float:
    """The power by which misses fall with the fan-out."""
    return power_law({each: total(played(outcomes, uniform(each))).miss_after_model for each in FITTED}).exponent


def law(outcomes: Sequence[Outcomes]) -> Law:
    """Fit what Theorem 12 needs to these outcomes."""
    return acceptance(outcomes), max(0.05, exponent(outcomes))


def geometric(outcomes: Sequence[Outcomes], budget: int = BUDGET) -> FanOut:
    """Theorem 12's fan-out, with acceptance and exponent fitted to these outcomes."""
    return fanout.geometric(LOOKAHEAD, budget, *law(outcomes))


def best(outcomes: Sequence[Outcomes], budget: int = BUDGET) -> FanOut:
    """The fan-out with the most hits on these very texts: no fan-out chosen beforehand does better."""
    tables = [guesses(one, LOOKAHEAD, budget) for one in outcomes]
    added = [[sum(cell) for cell in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
    return most_hits([[0.0, *itertools.accumulate(row)] for row in added], budget)


def most_hits(hits: Sequence[Sequence[float]], budget: int) -> FanOut:
    """Share out a budget. `hits[k][n]` are those of n branches for k accepted tokens; a branch may add nothing where
    the next one adds much, so every share is tried."""
    reached: list[tuple[float, FanOut]] = [(0.0, ())] * (budget + 1)  # by branches given to the counts so far
    for row in hits:
        reached = [
            max((reached[left - n][0] + row[n], (*reached[left - n][1], n)) for n in range(left + 1))
            for left in range(budget + 1)
        ]
    return reached[budget][1]


def off(run: Series, expected: Series) -> str:
    """How far a run was from what was expected: +2 % at 1, −7 % at 2, … texts at once."""
    pairs = zip(BATCHES, run.points, expected.points, strict=True)
    return ", ".join(f"{change(ours.y / theirs.y)} at {batch}" for batch, ours, theirs in pairs)


@dataclass(frozen=True)
class Way:
    """One way to decode: how many tokens it drafts, its branches for each accepted count, and its backup."""

    lookahead: int
    each: int = 0  # 0: ordinary speculative decoding
    is_random: bool = False  # the backup: random tokens, or the model
    law: Law | None = None  # shares out as many branches by Theorem 12; None: evenly

    @property
    def branches(self) -> int:
        return self.each * (self.lookahead + 1)

    def tallies(self, outcomes: Sequence[Outcomes]) -> list[OutcomeTally]:
        even = uniform(self.each, self.lookahead)
        fan = fanout.geometric(self.lookahead, self.branches, *self.law) if self.law else even
        return played(outcomes, fan, (self.branches,) if self.is_random else None)


@dataclass(frozen=True)
class Tuned:
    """The best lookahead of one kind of decoding, with its tallies."""

    way: Way
    tallies: Tallies


@dataclass
class TunedWays:
    """Kinds of decoding on one temperature's outcomes, each at its best lookahead for a batch: by the SSD paper's
    formulas, at the prices of the cost model for so many texts."""

    evidence: Evidence
    outcomes: Sequence[Outcomes]
    devices: int = 1  # that draft: each steps its share of the branches

    def costs(self, batch: int) -> CostModel:
        return self.evidence.single if batch == 1 else self.evidence.joint

    def verify(self, lookahead: int, batch: int) -> float:
        return self.costs(batch).verify(batch, batch * (lookahead + 1))

    def draft(self, lookahead: int, batch: int) -> float:
        return self.costs(batch).drafted(batch, lookahead)

    def prepare(self, way: Way, batch: int) -> float:
        branches, prices = -(-batch * way.branches // self.devices), self.evidence.prices
        return prices.opening + way.lookahead * prices.prepare(branches)

    def speculation(self, way: Way, tally: OutcomeTally, batch: int = 1) -> Speculation:
        """The terms of Theorem 7 and Corollary 16, in units of one verification."""
        unit = self.verify(way.lookahead, batch)
        drafting = self.draft(way.lookahead, batch) / unit
        if not way.each:
            return without_hits(tally.tokens_per_round, drafting)
        return Speculation(
            tally.hit_rate,
            tally.tokens_per_hit,
            tally.tokens_per_miss,
            self.prepare(way, batch) / unit,
            0.0 if way.is_random else drafting,
        )

    def pace(self, way: Way, tally: OutcomeTally, batch: int = 1) -> float:
        """Tokens per second of each text. Theorem 7 counts a verification as one unit, whatever its rows."""
        return self.speculation(way, tally, batch).speedup(batch) / self.verify(way.lookahead, batch)

    def undrafted(self, batch: int = 1) -> float:
        """Tokens per second of each text without speculation."""
        return 1.0 / self.verify(0, batch)

    @cached_property
    def _tallies(self) -> dict[Way, list[OutcomeTally]]:
        return {}

    def tallies(self, way: Way) -> list[OutcomeTally]:
        if way not in self._tallies:
            self._tallies[way] = way.tallies(self.outcomes)
        return self._tallies[way]

    def tuned(self, each: int, *, is_random: bool = False, law: Law | None = None, batch: int = 1) -> Tuned:
        ways = [Way(lookahead, each, is_random, law) for lookahead in range(1, DEEPEST + 1)]
        way = max(ways, key=lambda one: self.pace(one, total(self.tallies(one)), batch))
        return Tuned(way, self.tallies(way))

    def speed(self, one: Tuned, batch: int = 1) -> Estimate:
        return estimate(one.tallies, lambda part: self.pace(one.way, total(part), batch))

    def ratio(self, one: Tuned, other: Tuned, batch: int = 1) -> Estimate:
        """Speed of one over the other's, on the same prompts."""

        def compute(part: Sequence[tuple[OutcomeTally, OutcomeTally]]) -> float:
            ours, theirs = (total(column) for column in zip(*part, strict=True))
            return self.pace(one.way, ours, batch) / self.pace(other.way, theirs, batch)

        return estimate([*zip(one.tallies, other.tallies, strict=True)], compute)
