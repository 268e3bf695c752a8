"""Parts that figures share: the oracle's rounds, fan-outs fitted to recorded outcomes, and speeds by the SSD paper's
formulas at prices measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from decoding.drafting import fan_outs as fanout
from decoding.drafting.fan_outs import FanOut
from decoding.papers.batches import BACKUPS, Backup, ByBatch
from decoding.papers.bootstrap import Estimate, estimate, median
from decoding.papers.figure import Evidence
from decoding.papers.outcomes import Outcomes, OutcomeTally, play, total
from decoding.papers.settings import Origin
from decoding.prices.cost_model import CostModel, Counts
from decoding.trace.theory import FITTED, Speculation, power_law, without_hits

LOOKAHEAD, BUDGET = 7, 24  # of the reference code's commands: three branches for each accepted count
DEEPEST = 8  # lookaheads among which the best is taken
NOT_RUN = "Nothing is run: this machine has no second core for the draft."
NOT_READ = "The paper's points could not be read."
NOT_SEEN = "Nobody here has seen this figure of the paper, so ours shows what the text around it is about."

Tallies = Sequence[OutcomeTally]
Law = tuple[float, float]  # acceptance of a drafted token, and the power by which misses fall with the fan-out


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
    return acceptance(outcomes), exponent(outcomes)


def geometric(outcomes: Sequence[Outcomes], budget: int = BUDGET) -> FanOut:
    """Theorem 12's fan-out, with acceptance and exponent fitted to these outcomes."""
    return fanout.geometric(LOOKAHEAD, budget, *law(outcomes))


def faster(costs: CostModel, one: Counts, other: Counts, sees: str = "nothing") -> Estimate:
    """Replayed speed of one over the other's, prompt by prompt. `sees` is what the one looks at after each token."""
    pairs = zip(one.parts, other.parts, strict=True)
    return median([costs.seconds(theirs) / costs.seconds(ours, sees) for ours, theirs in pairs])


@dataclass(frozen=True)
class Drafting:
    """A way to decode: how many tokens it drafts, its branches for each accepted count, and its backup."""

    lookahead: int
    each: int = 0  # 0: ordinary speculative decoding
    is_random: bool = False  # the backup: random tokens, or the model
    law: Law | None = None  # shares out as many branches by Theorem 12; None: evenly
    texts: int = 1  # at once

    @property
    def branches(self) -> int:
        return self.each * (self.lookahead + 1)

    def tallies(self, outcomes: Sequence[Outcomes]) -> list[OutcomeTally]:
        even = uniform(self.each, self.lookahead)
        fan = fanout.geometric(self.lookahead, self.branches, *self.law) if self.law else even
        return played(outcomes, fan, (self.branches,) if self.is_random else None)


@dataclass
class Formula(ByBatch):
    """Ways to decode by the SSD paper's formulas, on one temperature's outcomes, at the prices of the cost model for so
    many texts. Each kind is taken at its best lookahead."""

    evidence: Evidence
    outcomes: Sequence[Outcomes]
    devices: int = 1  # that draft: each steps its share of the branches
    origin: Origin = "theory"
    _tallies: dict[Drafting, list[OutcomeTally]] = field(init=False, default_factory=dict)

    def verify(self, way: Drafting) -> float:
        return self._costs(way).verify(way.texts, way.texts * (way.lookahead + 1))

    def draft(self, way: Drafting) -> float:
        return self._costs(way).drafted(way.texts, way.lookahead)

    def _costs(self, way: Drafting) -> CostModel:
        return self.evidence.single if way.texts == 1 else self.evidence.joint

    def _prepare(self, way: Drafting) -> float:
        branches, prices = -(-way.texts * way.branches // self.devices), self.evidence.prices
        return prices.opening + way.lookahead * prices.prepare(branches)

    def speculation(self, way: Drafting, tally: OutcomeTally) -> Speculation:
        """The terms of Theorem 7 and Corollary 16, in units of one verification."""
        unit = self.verify(way)
        drafting = self.draft(way) / unit
        if not way.each:
            return without_hits(tally.tokens_per_round, drafting)
        prepare = self._prepare(way) / unit
        backup = 0.0 if way.is_random else drafting
        return Speculation(tally.hit_rate, tally.tokens_per_hit, tally.tokens_per_miss, prepare, backup)

    def pace(self, way: Drafting, tally: OutcomeTally) -> float:
        """Tokens per second of each text. Theorem 7 counts a verification as one unit, whatever its rows."""
        return self.speculation(way, tally).speedup(way.texts) / self.verify(way)

    def tallies(self, way: Drafting) -> list[OutcomeTally]:
        of_one = replace(way, texts=1)
        if of_one not in self._tallies:
            self._tallies[of_one] = way.tallies(self.outcomes)
        return self._tallies[of_one]

    def tuned(self, each: int, *, is_random: bool = False, law: Law | None = None, texts: int = 1) -> Drafting:
        ways = [Drafting(lookahead, each, is_random, law, texts) for lookahead in range(1, DEEPEST + 1)]
        return max(ways, key=lambda way: self.pace(way, total(self.tallies(way))))

    def undrafted(self, texts: int = 1) -> Drafting:
        return Drafting(0, texts=texts)

    def plain(self, texts: int) -> Drafting:
        return self.tuned(0, texts=texts)

    def ahead(self, texts: int, *backups: Backup) -> Drafting:
        """With one branch for each accepted count on each device."""
        found = [self.tuned(self.devices, is_random=b == "random", texts=texts) for b in backups or BACKUPS]
        return max(found, key=lambda way: self.pace(way, total(self.tallies(way))))

    def gain(self, way: Drafting) -> Estimate:
        unit = self.verify(self.undrafted())
        if not way.lookahead:
            return Estimate(unit / self.verify(way))
        return estimate(self.tallies(way), lambda part: self.pace(way, total(part))).times(unit)

    def ratio(self, way: Drafting, other: Drafting) -> Estimate:
        def compute(part: Sequence[tuple[OutcomeTally, OutcomeTally]]) -> float:
            ours, theirs = (total(column) for column in zip(*part, strict=True))
            return self.pace(way, ours) / self.pace(other, theirs)

        return estimate([*zip(self.tallies(way), self.tallies(other), strict=True)], compute)

    def label(self, way: Drafting, other: Drafting) -> str:
        return ""


def by_batch(evidence: Evidence) -> list[ByBatch]:
    """Ways to decode several texts at once by Corollary 16, by the simulator and, with a second core, run."""
    run = [evidence.ran_together] if evidence.ran_together else []
    return [Formula(evidence, evidence.greedy), evidence.simulated_together, *run]
