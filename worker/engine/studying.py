"""Make an oracle or a plan: record a pair on prompts once, and compute a document of plain data from that."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.disco import metrics, training
from decoding.disco.classifier import Classifier
from decoding.pair import Pair
from decoding.projecting.card import Card
from decoding.projecting.document import MAPPING, PROJECTING, document
from decoding.projecting.projecting import Material
from decoding.replay import planning, probing
from decoding.replay.confirming import best_of_each, confirm, to_run
from decoding.replay.costs import Costs
from decoding.replay.oracle import analyse
from decoding.replay.planning import Prediction, Study
from decoding.replay.planning_ahead import Simulating, planned_ahead, predict_ahead, samples_ahead
from decoding.spec import Choice
from decoding.strategies.disco import RULES
from worker import noise
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Found, PairOrder, Say

ORACLE_FORMAT = "drafthouse.oracle/1"
PLAN_FORMAT = "drafthouse.plan/1"
SIMULATING = "measuring preparation"
TENTHS = 10


def oracle(order: PairOrder, lookahead: int, residents: Residents, say: Say, cancelled: Cancelled) -> None:
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)
    steps = Steps(say, {"recording": len(order.prompts)})
    recorded = _recorded(order, pair, steps, cancelled, tails=False)
    if cancelled():
        return
    names = [recording.prompt for recording in recorded.recordings]
    found = analyse(names, recorded.records, lookahead, recorded.copied)
    say(Found({"format": ORACLE_FORMAT, "hardware": loaded.hardware, **dataclasses.asdict(found)}))


def plan(order: PairOrder, residents: Residents, say: Say, cancelled: Cancelled) -> None:
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)
    classifiers = {name: pair.classifier(name) for name in order.pair.classifiers}
    chosen = next(iter(classifiers), None)
    count, measured = len(order.prompts), probing.samples(len(order.prompts), classifiers=int(chosen is not None))
    run_count = len(planning.confirmed(has_classifier=chosen is not None))
    ahead = planned_ahead(order.sampling, has_classifier=chosen is not None)
    phases = {"recording": count, "measuring costs": measured, SIMULATING: samples_ahead(count, ahead)}
    steps = Steps(say, {**phases, "confirming": (run_count + len(ahead)) * count})
    recorded = _recorded(order, pair, steps, cancelled, tails=True)
    if cancelled():
        return
    steps("measuring costs", 0, 1)
    before = noise.mark(os.getpid())
    costs = probing.probe(pair, order.prompts, order.sampling, chosen)
    steps("measuring costs", 1, 1)
    simulating = Simulating(
        pair,
        order.prompts,
        order.sampling,
        recorded,
        costs,
        chosen,
        on_progress=lambda done: steps(SIMULATING, done, phases[SIMULATING]),
        cancelled=cancelled,
    )
    predictions = [*_predicted(recorded, costs, chosen, classifiers), *predict_ahead(simulating)]
    best = best_of_each(predictions)
    due = len(to_run(best)) * count
    rows = confirm(
        pair,
        order.prompts,
        order.sampling,
        best,
        on_progress=lambda done: steps("confirming", done, due),
        cancelled=cancelled,
    )
    if not cancelled():
        noisy = noise.between(before, noise.mark(os.getpid()))
        say(Found({**_document(best, rows, predictions, costs), "hardware": loaded.hardware, "noise": noisy,
                   "classifiers": _judged(recorded, costs, classifiers)}))  # fmt: skip


def projection(order: PairOrder, card: Card, residents: Residents, say: Say, cancelled: Cancelled) -> None:
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)
    steps = Steps(say, {"recording": len(order.prompts), PROJECTING: 0, MAPPING: 0})
    recorded = _recorded(order, pair, steps, cancelled, tails=True)
    if cancelled():
        return
    name = next(iter(order.pair.classifiers), None)
    material = Material.of(recorded, pair.vocab, pair.classifier(name) if name else None)
    fixes, often = order.sampling.fixes_the_text, Seldom(steps)
    found = document(material, card, fixes_the_text=fixes, on_progress=often, cancelled=cancelled)
    if not cancelled():
        say(Found({**found, "hardware": loaded.hardware}))


@dataclass
class Seldom:
    """Says a step when the next tenth of its phase is done: a projection has hundreds."""

    steps: Steps

    def __call__(self, phase: str, done: int, due: int) -> None:
        if done * TENTHS // due > (done - 1) * TENTHS // due:
            self.steps(phase, done, due)


def _recorded(order: PairOrder, pair: Pair, steps: Steps, cancelled: Cancelled, *, tails: bool) -> Study:
    def on_progress(done: int) -> None:
        steps("recording", done, len(order.prompts))

    return planning.study(
        pair, order.prompts, order.sampling, tails=tails, on_progress=on_progress, cancelled=cancelled
    )


def _predicted(
    recorded: Study, costs: Costs, chosen: str | None, classifiers: Mapping[str, Classifier]
) -> list[Prediction]:
    """Every setting with its predicted price. DISCO's settings name the classifier that decides."""
    found = planning.predict(recorded, costs, classifiers[chosen] if chosen else None)
    return [
        dataclasses.replace(p, choice=Choice(p.choice.strategy, {**p.choice.params, "classifier": chosen or ""}))
        if "classifier" in p.choice.params
        else p
        for p in found
    ]


def _document(
    best: Sequence[Prediction],
    rows: Mapping[str, Mapping[str, Any]],
    predictions: Sequence[Prediction],
    costs: Costs,
) -> dict[str, Any]:
    return {
        "format": PLAN_FORMAT,
        "settings": [_setting(prediction, rows.get(prediction.choice.label)) for prediction in best],
        "predictions": [_priced(prediction) for prediction in predictions],
        "costs": dataclasses.asdict(costs),
        "elsewhere": planning.elsewhere(best),
    }


def _priced(prediction: Prediction) -> dict[str, Any]:
    choice = prediction.choice
    return {
        "strategy": choice.strategy,
        "params": dict(choice.params),
        "speedup": prediction.speedup,
        "tokens_per_s": prediction.tokens_per_s,
    }


def _setting(prediction: Prediction, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """One setting: its predicted speed-up, and the measured one if it was run."""
    return {
        **_priced(prediction),
        "label": prediction.choice.label,
        "role": prediction.choice.spec.role,
        "measured": row["speedup"] if row else None,
        "audit": row["audit"] if row else None,
    }


def _judged(recorded: Study, costs: Costs, classifiers: Mapping[str, Classifier]) -> list[dict[str, Any]]:
    """Judge each of the pair's classifiers on these prompts, at its own settings, whatever it was trained on."""
    baseline = costs.tokens_per_s(recorded.play(planning.ALONE))
    statics = [costs.tokens_per_s(recorded.play(choice)) for choice in planning.STATICS]
    labelled = training.label(recorded.recordings)
    judged = []
    for name, classifier in classifiers.items():
        found = metrics.measure(classifier(labelled.rows), labelled.accepted)
        own = {rule: classifier.tuned(rule) for rule in RULES}
        counts = planning.tuned(recorded, recorded.estimates(classifier), own)
        speeds = {rule: costs.tokens_per_s(count, "estimate") / baseline for rule, count in counts.items()}
        judged.append(
            {
                "classifier": name,
                "auc": found.auc,
                "f1": found.f1,
                "calibration_error": found.calibration_error,
                "speedups": speeds,
                "best_static": max(statics) / baseline,
            }
        )
    return judged
