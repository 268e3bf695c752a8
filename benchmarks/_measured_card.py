"""Measure a machine card of this machine, within a minute or two for a small pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding.backends.joint_probing import Probing
from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.prices.cost_model import CostModel, Line, Table
from decoding.prices.fit import rising
from decoding.prices.fit_ahead import prices_beside
from decoding.prices.machine_card import Card
from decoding.prompts.prompt import PromptItem
from decoding.replay.confirming import Traces, run_all
from decoding.replay.probing import probe, typical
from decoding.strategies import ssd

ROWS = (1, 2, 3, 5, 9, 17)
BRANCHES = (6, 12, 24)
USUAL_DRAFT = 4  # tokens: the rest of a draft is shared out among so many steps


def card_of(
    pair: ModelPair, prompts: Sequence[PromptItem], sampling: Sampling, batches: Sequence[int], name: str, machine: str
) -> Card:
    classifier = "" if pair.classifier_at("") is not None else None
    costs = probe(pair, prompts, sampling, classifier)
    ahead = [choose(ssd.STRATEGY.slug, {"branches": count, "backup": "neural"}) for count in BRANCHES]
    traces = Traces()
    run_all(pair, typical(prompts), sampling, ahead, sink_for=traces.sink_for)
    prices = prices_beside(costs, [trace for own in traces.values() for trace in own])
    target, steps = {1: _line(costs.verify, 1, ROWS)}, {1: _steps(costs, prices)}
    if more := [batch for batch in batches if batch > 1]:
        joint = Probing(pair, max(more), sampling, pair.caches()).measured(like=costs)
        target |= {batch: _line(joint.verify, batch, ROWS) for batch in more}
        # Branches of several texts are priced as so many texts.
        steps |= {batch: _line(lambda _, rows: joint.draft(rows), batch, (1, *BRANCHES)) for batch in more}
    return Card(
        name=name[:120],
        source=f"Measured here: {machine}. Branches of several texts are priced as so many texts."[:1000],
        grade="measured",
        target_devices=1,
        draft_devices=int(pair.process_of(choose(ssd.STRATEGY.slug)) is not None),
        costs=CostModel(
            rising_by_batch(target),
            rising_by_batch(steps),
            rest=costs.rest,
            transport=prices.answer / 2,
            decision=costs.decision,
            mixing=costs.mixing,
            context=costs.context,
        ),
    )


def _steps(costs: CostModel, prices: CostModel) -> Line:
    step = costs.draft(1) + costs.beginning(1) / USUAL_DRAFT
    return rising({1: [step], **{count: [prices.prepare(count)] for count in BRANCHES}})


def _line(price: Callable[[int, int], float], batch: int, rows: Sequence[int]) -> Line:
    """Prices of passes with so many rows of each text."""
    return rising({batch * each: [price(batch, batch * each)] for each in rows})


def rising_by_batch(found: Table) -> Table:
    """Make prices rise with texts too, as they must: those of as many rows of each text."""
    places = range(len(found[1]))
    risen = [dict(rising({batch: [line[place][1]] for batch, line in found.items()})) for place in places]
    return {batch: [(line[place][0], risen[place][batch]) for place in places] for batch, line in sorted(found.items())}
