"""Measure a machine card of this machine, within a minute or two for a small pair."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from decoding.events import Event, Recorder
from decoding.measure.comparison import Comparison
from decoding.pair import Pair
from decoding.projecting.card import Card, PassPrices
from decoding.prompts.prompt import Prompt
from decoding.replay.costs import Costs
from decoding.replay.joint_costs import JointCosts, Line, on_line
from decoding.replay.joint_probing import measure
from decoding.replay.probing import probe, typical
from decoding.serving import Places
from decoding.spec import Sampling, choose
from decoding.ssd.simulation.prices import Prices, prices_beside
from decoding.strategies import ssd

ROWS = (1, 2, 3, 5, 9, 17)
BRANCHES = (6, 12, 24)
USUAL_DRAFT = 4  # tokens: the rest of a draft is shared out among so many steps


def card_of(
    pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, batches: Sequence[int], name: str, machine: str
) -> Card:
    classifier = "" if pair.classifier_at("") is not None else None
    costs = probe(pair, prompts, sampling, classifier)
    prices = prices_beside(costs, _prepared(pair, prompts, sampling))
    found = {1: _alone(costs, prices)}
    if more := [batch for batch in batches if batch > 1]:
        places = Places(pair.target.model, pair.require_draft("A machine card").model)
        joint = measure(pair, places, max(more), sampling)
        found |= {batch: _together(joint, batch) for batch in more}
    return Card(
        name=name[:120],
        source=f"Measured here: {machine}. Branches of several texts are priced as so many texts."[:1000],
        grade="measured",
        target_devices=1,
        draft_devices=int(pair.process_of(choose(ssd.STRATEGY.slug)) is not None),
        message=prices.answer / 2,
        round=costs.round,
        decision=costs.decision,
        mixing=costs.mixing,
        batches=rising_by_batch(found),
    )


def _prepared(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sequence[Event]]:
    """Short runs of SSD with different numbers of branches."""
    choices = [choose(ssd.STRATEGY.slug, {"branches": count, "backup": "neural"}) for count in BRANCHES]
    comparison = Comparison(pair, typical(prompts), choices, sampling)
    pair.begin(choices)
    comparison.warm_up()
    found: list[Sequence[Event]] = []
    for key in itertools.chain.from_iterable(comparison.schedule()):
        comparison.decode(key, recorder := Recorder())
        found.append(recorder.events)
    return found


def _alone(costs: Costs, prices: Prices) -> PassPrices:
    step = costs.draft + costs.draft_round / USUAL_DRAFT
    branches = {1: step, **{count: prices.step(count) for count in BRANCHES}}
    return PassPrices(rising({rows: costs.verify(rows) for rows in ROWS}), rising(branches))


def _together(joint: JointCosts, batch: int) -> PassPrices:
    target = {rows: joint.verifying(batch, batch * rows) for rows in ROWS}
    return PassPrices(rising(target), rising({rows: joint.drafting(batch * rows) for rows in (1, *BRANCHES)}))


def rising_by_batch(found: Mapping[int, PassPrices]) -> dict[int, PassPrices]:
    """Make prices rise with texts, as they must: where noise makes more texts look cheaper, they cost the same."""
    risen: dict[int, PassPrices] = {}
    before = PassPrices([(1, 0.0)], [(1, 0.0)])
    for batch, prices in sorted(found.items()):
        before = PassPrices(_at_least(before.target, prices.target), _at_least(before.draft, prices.draft))
        risen[batch] = before
    return risen


def _at_least(least: Line, line: Line) -> Line:
    return [(rows, max(seconds, on_line(least, rows))) for rows, seconds in line]


def rising(points: Mapping[int, float]) -> list[tuple[int, float]]:
    """Make prices rise with rows, as they must: where noise makes more rows look cheaper, they cost the same."""
    rows = sorted(points)
    return list(zip(rows, itertools.accumulate((points[each] for each in rows), max), strict=True))
