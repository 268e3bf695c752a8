"""Make an oracle, a plan or a projection: record a pair on prompts once, and compute a document from that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.disco.classifier import DraftClassifier
from decoding.prices.cost_model import CostModel
from decoding.prices.machine_card import Card
from decoding.replay import planning, probing, workload
from decoding.replay.confirming import document_of, run_all
from decoding.replay.oracle import analyse
from decoding.replay.planning import Prediction, RecordedSet, best_of_kinds
from decoding.replay.planning_ahead import Simulating, has_both_placements, left_out, predict_ahead
from decoding.replay.planning_at_load import plan_at_load
from decoding.replay.projecting import MAPPING, PROJECTING, ProjectionInputs, document
from worker import noise
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import PhaseProgress
from worker.messages import Cancelled, Emit, Found, PairOrder

ORACLE_FORMAT = "drafthouse.oracle/1"


def study(
    order: PairOrder,
    residents: Residents,
    emit: Emit,
    cancelled: Cancelled,
    find: Callable[[ModelPair], Mapping[str, Any]],
) -> None:
    """Load the pair as it is recorded, and emit the document of what is found, unless somebody cancels."""
    pair, loaded = load_pair(order.pair, residents, is_recorded=True)
    emit(loaded)
    with closing(pair):  # chats are rendered in a process of its own, and so may a draft be
        found = find(pair)
    if not cancelled():
        emit(Found({**found, "hardware": loaded.hardware, "draft_left_out": pair.draft_left_out}))


def oracle(order: PairOrder, lookahead: int, pair: ModelPair, emit: Emit, cancelled: Cancelled) -> dict[str, Any]:
    steps = PhaseProgress(emit, {workload.RECORDING: len(order.prompts)})
    recorded = _recorded(order, pair, steps, cancelled, for_replay=False)
    if cancelled():
        return {}
    names = [recording.prompt for recording in recorded.recordings]
    return {"format": ORACLE_FORMAT, **analyse(names, recorded.drafted, lookahead, recorded.copied)}


@dataclass
class Planning:
    """A recorded pair and the costs of its passes: a plan is made from both."""

    order: PairOrder
    pair: ModelPair
    steps: PhaseProgress
    cancelled: Cancelled
    recorded: RecordedSet
    costs: CostModel
    chosen: str | None  # name of the classifier that decides
    classifier: DraftClassifier | None  # at these costs

    def predicted(self) -> list[Prediction]:
        """Predict the speed of every setting. Those that ask a classifier name the one that decides."""
        simulating = Simulating(
            self.pair,
            self.order.prompts,
            self.order.sampling,
            self.recorded,
            self.costs,
            self.chosen,
            on_progress=lambda done: self.steps(workload.AHEAD, done, self.steps.parts[workload.AHEAD]),
            cancelled=self.cancelled,
        )
        played = planning.predict(self.recorded, self.costs, self.classifier)
        return [*(each.asking(self.chosen or "") for each in played), *predict_ahead(simulating)]

    def for_one(self) -> dict[str, Any]:
        """Plan for one user: run the best setting of each strategy."""
        predictions = self.predicted()
        if self.cancelled():
            return {}
        best = best_of_kinds(predictions)
        choices = [planning.AUTOREGRESSIVE, *(each.choice for each in best if each.choice.spec.role == "ranked")]
        due = len(choices) * len(self.order.prompts)
        rows = run_all(
            self.pair,
            self.order.prompts,
            self.order.sampling,
            choices,
            on_progress=lambda done: self.steps(workload.CONFIRMING, done, due),
            cancelled=self.cancelled,
        )
        if self.cancelled():
            return {}
        return document_of(best, rows, predictions, self.costs)

    def at_load(self, loads: Sequence[int]) -> dict[str, Any]:
        self.steps(workload.JOINTLY, 0, 1)
        return plan_at_load(
            self.pair,
            self.order.prompts,
            self.order.sampling,
            self.recorded,
            self.costs,
            loads,
            self.chosen,
            on_progress=lambda done, due: self.steps(workload.AT_LOAD, done, due),
            cancelled=self.cancelled,
        )


def plan(
    order: PairOrder, loads: Sequence[int], pair: ModelPair, emit: Emit, cancelled: Cancelled, *, for_one: bool = True
) -> dict[str, Any]:
    """The plan's document; not whole if somebody cancels."""
    chosen = next(iter(pair.usable(order.pair.classifiers)), None)
    steps = _steps_of_plan(order, loads, chosen, pair, emit)
    recorded = _recorded(order, pair, steps, cancelled, for_replay=True)
    if cancelled():
        return {}
    before = noise.mark(os.getpid())
    costs = probing.probe(pair, order.prompts, order.sampling, chosen, partial(steps, workload.COSTS))
    classifier = None if chosen is None else pair.priced(chosen, costs, order.sampling)
    made = Planning(order, pair, steps, cancelled, recorded, costs, chosen, classifier)
    found = made.for_one() if for_one else {}
    found["at_load"] = made.at_load(loads) if loads and not cancelled() else None
    return {
        **found,
        "noise": noise.between(before, noise.mark(os.getpid())),
        "misfit": "" if chosen is None else pair.misfit("This plan", chosen, order.sampling),
        "left_out": left_out(order.sampling, recorded),
        "classifier": chosen,
    }


def _steps_of_plan(
    order: PairOrder, loads: Sequence[int], chosen: str | None, pair: ModelPair, emit: Emit
) -> PhaseProgress:
    recipe = workload.StudyRecipe(
        len(order.prompts),
        order.sampling,
        loads,
        None if chosen is None else pair.classifier(chosen),
        is_undrafted=pair.draft is None,
        has_both_placements=has_both_placements(pair),
    )
    return PhaseProgress(emit, workload.phases_of_plan(recipe))


def projection(order: PairOrder, card: Card, pair: ModelPair, emit: Emit, cancelled: Cancelled) -> dict[str, Any]:
    steps = PhaseProgress(emit, {workload.RECORDING: len(order.prompts), PROJECTING: 0, MAPPING: 0})
    recorded = _recorded(order, pair, steps, cancelled, for_replay=True)
    if cancelled():
        return {}
    name = next(iter(pair.usable(order.pair.classifiers)), None)
    classifier = None if name is None else pair.classifier(name, order.sampling)
    material = ProjectionInputs.of(recorded, pair.vocab, classifier)
    found = document(material, card, order.sampling, on_progress=steps, cancelled=cancelled)
    return {**found, "classifier": name}


def _recorded(
    order: PairOrder, pair: ModelPair, steps: PhaseProgress, cancelled: Cancelled, *, for_replay: bool
) -> RecordedSet:
    def on_progress(done: int) -> None:
        steps(workload.RECORDING, done, len(order.prompts))

    return planning.study(
        pair,
        order.prompts,
        order.sampling,
        tails=for_replay,
        on_progress=on_progress,
        cancelled=cancelled,
    )
