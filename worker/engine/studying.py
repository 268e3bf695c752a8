"""Make an oracle or a plan: record a pair on prompts once, and compute a document of plain data from that."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from decoding.disco.classifier import Classifier
from decoding.pair import Pair
from decoding.prices.cost_model import CostModel
from decoding.prices.machine_card import Card
from decoding.projecting.document import MAPPING, PROJECTING, document
from decoding.projecting.projecting import Material
from decoding.replay import planning, probing, workload
from decoding.replay.confirming import best_of_each, confirm, repriced, to_run
from decoding.replay.oracle import analyse
from decoding.replay.plan_at_load import plan_at_load
from decoding.replay.plan_document import document_of, judged
from decoding.replay.planning import Prediction, Study
from decoding.replay.planning_ahead import Simulating, has_both_placements, left_out, predict_ahead
from decoding.replay.tree_worth import tree_worth
from decoding.spec import Choice
from worker import noise
from worker.engine.pairs import load_pair, recordable
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Emit, Found, PairOrder

ORACLE_FORMAT = "drafthouse.oracle/1"


def oracle(order: PairOrder, lookahead: int, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
    order = recordable(order)
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    steps = Steps(emit, {workload.RECORDING: len(order.prompts)})
    recorded = _recorded(order, pair, steps, cancelled, for_replay=False)
    if cancelled():
        return
    names = [recording.prompt for recording in recorded.recordings]
    found = analyse(names, recorded.drafted, lookahead, recorded.copied)
    about = {"format": ORACLE_FORMAT, "hardware": loaded.hardware, "draft_left_out": pair.draft_left_out}
    emit(Found({**about, **dataclasses.asdict(found)}))


def plan(order: PairOrder, loads: Sequence[int], residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
    order = recordable(order)
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    with closing(pair):  # a draft beside the target has a process of its own
        found = _planned(order, loads, pair, emit, cancelled)
    if found:
        emit(Found({**found, "hardware": loaded.hardware, "draft_left_out": pair.draft_left_out}))


def _planned(order: PairOrder, loads: Sequence[int], pair: Pair, emit: Emit, cancelled: Cancelled) -> dict[str, Any]:
    """The plan's document; empty if somebody cancels."""
    usable = pair.usable(order.pair.classifiers)
    chosen, count = next(iter(usable), None), len(order.prompts)
    steps = _steps_of_plan(order, loads, chosen, pair, emit)
    recorded = _recorded(order, pair, steps, cancelled, for_replay=True)
    if cancelled():
        return {}
    before = noise.mark(os.getpid())
    costs = probing.probe(pair, order.prompts, order.sampling, chosen, partial(steps, workload.COSTS))
    classifiers = {name: pair.priced(name, costs, order.sampling) for name in usable}
    simulating = Simulating(
        pair,
        order.prompts,
        order.sampling,
        recorded,
        costs,
        chosen,
        on_progress=lambda done: steps(workload.AHEAD, done, steps.parts[workload.AHEAD]),
        cancelled=cancelled,
    )
    predictions = [*_predicted(recorded, costs, chosen, classifiers), *predict_ahead(simulating)]
    if cancelled():
        return {}
    best = best_of_each(predictions)
    runs = confirm(
        pair,
        order.prompts,
        order.sampling,
        best,
        on_progress=lambda done: steps(workload.CONFIRMING, done, len(to_run(best)) * count),
        cancelled=cancelled,
    )
    at_load = _at_load(order, loads, pair, recorded, costs, chosen, steps, cancelled)
    if cancelled():
        return {}
    noisy = noise.between(before, noise.mark(os.getpid()))
    own = judged(recorded, costs, classifiers)
    trees = None if recorded.is_alone else tree_worth(recorded, costs).to_dict()
    again = repriced(runs, best, recorded, costs, classifiers[chosen] if chosen else None)
    found = document_of(best, runs.rows, again, predictions, costs)
    doubt = pair.misfit("This plan", chosen, order.sampling) if chosen else ""
    about = {"noise": noisy, "misfit": doubt, "classifier": chosen, "classifiers": own}
    missing = left_out(order.sampling, recorded)
    return {**found, "at_load": at_load, "trees": trees, "left_out": missing, **about}


def _at_load(
    order: PairOrder,
    loads: Sequence[int],
    pair: Pair,
    recorded: Study,
    costs: CostModel,
    chosen: str | None,
    steps: Steps,
    cancelled: Cancelled,
) -> dict[str, Any] | None:
    if not loads or cancelled():
        return None
    steps(workload.JOINTLY, 0, 1)
    return plan_at_load(
        pair,
        order.prompts,
        order.sampling,
        recorded,
        costs,
        loads,
        chosen,
        on_progress=lambda done, due: steps(workload.AT_LOAD, done, due),
        cancelled=cancelled,
    )


def _steps_of_plan(order: PairOrder, loads: Sequence[int], chosen: str | None, pair: Pair, emit: Emit) -> Steps:
    recipe = workload.Recipe(
        len(order.prompts),
        order.sampling,
        loads,
        has_classifier=chosen is not None,
        judges_copies=chosen is not None and pair.classifier(chosen).knows_copies,
        is_alone=order.pair.draft is None,
        has_both_placements=has_both_placements(pair),
    )
    return Steps(emit, workload.phases_of_plan(recipe))


def projection(order: PairOrder, card: Card, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
    order = recordable(order)
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    steps = Steps(emit, {workload.RECORDING: len(order.prompts), PROJECTING: 0, MAPPING: 0})
    recorded = _recorded(order, pair, steps, cancelled, for_replay=True)
    if cancelled():
        return
    name = next(iter(pair.usable(order.pair.classifiers)), None)
    material = Material.of(recorded, pair.vocab, pair.classifier(name, order.sampling) if name else None)
    found = document(material, card, order.sampling, on_progress=steps, cancelled=cancelled)
    if not cancelled():
        about = {"classifier": name, "hardware": loaded.hardware, "draft_left_out": pair.draft_left_out}
        emit(Found({**found, **about}))


def _recorded(order: PairOrder, pair: Pair, steps: Steps, cancelled: Cancelled, *, for_replay: bool) -> Study:
    def on_progress(done: int) -> None:
        steps(workload.RECORDING, done, len(order.prompts))

    return planning.study(
        pair,
        order.prompts,
        order.sampling,
        tails=for_replay,
        trees=for_replay,
        on_progress=on_progress,
        cancelled=cancelled,
    )


def _predicted(
    recorded: Study, costs: CostModel, chosen: str | None, classifiers: Mapping[str, Classifier]
) -> list[Prediction]:
    """Settings with their predicted prices. DISCO's settings name the classifier that decides."""
    found = planning.predict(recorded, costs, classifiers[chosen] if chosen else None)
    return [
        dataclasses.replace(p, choice=Choice(p.choice.strategy, {**p.choice.params, "classifier": chosen or ""}))
        if "classifier" in p.choice.params
        else p
        for p in found
    ]
