"""Upper bounds for stop rules: the speed-up of an ideal rule, and what it depends on.

Replays recorded texts at measured and at assumed costs. Nothing here was run.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.disco.classifier import DraftClassifier
from decoding.drafting.source import Sight
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.replay.oracle import lookaheads
from decoding.replay.planning import AUTOREGRESSIVE, CAP, HEURISTIC, ORACLE, RecordedSet, price_of_a_token, static
from decoding.strategies.disco import Priced
from decoding.words import percent

DRAFT_SHARES = (0.02, 0.05, 0.10, 0.15, 0.20, 0.30)  # cost of a drafted token, as a share of a one-row verification


@dataclass(frozen=True)
class Standing:
    """Speed-ups over autoregressive on test prompts, at settings chosen on validation prompts for the same costs. The
    oracle's is a bound: it drafts until a token would be refused, and knows that at no cost."""

    name: str
    lookahead: int
    static: float
    heuristic: float
    disco: float
    oracle: float

    @property
    def gain(self) -> float:
        return self.disco / self.static

    @property
    def ceiling(self) -> float:
        return self.oracle / self.static


@dataclass(frozen=True)
class Third:
    """One third of the test prompts, grouped by how much the oracle's lookahead varies within a text."""

    deviation: float
    mean: float
    standing: Standing


@dataclass(frozen=True)
class Ceiling:
    measured: Standing
    free_decision: Standing
    by_draft_cost: Sequence[Standing]
    by_draft_cost_free_rows: Sequence[Standing]  # where a verification costs the same for any number of rows
    by_variance: Sequence[Third]


def ceiling(validation: RecordedSet, test: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> Ceiling:
    stand = _standings(validation, test, classifier)
    measured = stand("as measured", costs)
    free = dataclasses.replace(costs, target={1: [(1, costs.verify(1, 1))]})
    shares = [(percent(share), share) for share in DRAFT_SHARES]
    return Ceiling(
        measured,
        stand("with decisions for nothing", dataclasses.replace(costs, decision=0.0)),
        [stand(name, drafting_at(share, costs)) for name, share in shares],
        [stand(name, drafting_at(share, free)) for name, share in shares],
        [
            Third(*_spread(part), _standings(validation, part, classifier)(f"third {number}", costs))
            for number, part in enumerate(thirds(test), start=1)
        ],
    )


def drafting_at(share: float, costs: CostModel) -> CostModel:
    """Return the prices with all drafting scaled so that a drafted token takes this share of a verification."""
    by = share * costs.verify(1, 1) / costs.draft(1)
    return dataclasses.replace(costs.with_drafting(by), decision=by * costs.decision)


def thirds(test: RecordedSet) -> list[RecordedSet]:
    """Split the prompts into thirds, from the least to the most variation in the oracle's lookahead."""
    order = sorted(range(len(test.records)), key=lambda i: statistics.pstdev(lookaheads(test.records[i])))
    cuts = [round(len(order) * third / 3) for third in range(4)]
    parts = [[test.recordings[i] for i in order[low:high]] for low, high in itertools.pairwise(cuts)]
    return [RecordedSet(part, test.words) for part in parts if part]


def _spread(study: RecordedSet) -> tuple[float, float]:
    """Deviation and mean of the oracle's lookahead within a text, averaged over texts."""
    found = [lookaheads(record) for record in study.records]
    return statistics.mean(map(statistics.pstdev, found)), statistics.mean(map(statistics.mean, found))


def _standings(
    validation: RecordedSet, test: RecordedSet, classifier: DraftClassifier
) -> Callable[[str, CostModel], Standing]:
    """Return a function from costs to a standing. Replays that do not depend on costs run once, here."""
    chosen_among = {n: validation.play(static(n)) for n in range(1, CAP + 1)}
    statics = {n: test.play(static(n)) for n in chosen_among}
    baseline, heuristic, oracle = map(test.play, (AUTOREGRESSIVE, HEURISTIC, ORACLE))
    estimates = test.estimates(classifier)

    def stand(name: str, costs: CostModel) -> Standing:
        lookahead = max(chosen_among, key=lambda n: costs.tokens_per_s(chosen_among[n]))
        price = price_of_a_token(validation, costs, classifier)

        def speedup(counts: Counts, sees: Sight = "nothing") -> float:
            return costs.speedup(counts, baseline, sees)

        disco = speedup(test.count(lambda: Priced(price, CAP), estimates), "estimate")
        return Standing(name, lookahead, speedup(statics[lookahead]), speedup(heuristic), disco, speedup(oracle))

    return stand
