"""Making a classifier from prompts: record, train, tune by replay, measure, and write the results on its card."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from decoding.backends.pair import ModelPair
from decoding.core.loop import never
from decoding.dice.chance import CHANCE_VERSION
from decoding.dice.sampling import Sampling
from decoding.disco import features, metrics, training
from decoding.disco.cards import OURS
from decoding.disco.classifier import GREEDY, Calibration, DraftClassifier
from decoding.disco.prices import COPIED, PRICED
from decoding.errors import Cancelled
from decoding.measure.definitions import DEFINITIONS_VERSION
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay import planning, probing
from decoding.replay.planning import RecordedSet
from decoding.training import designs
from decoding.training.splits import Splits

PARTS = ("training", "validation", "test")  # of the material
HELD = "the one in training"  # name by which the pair holds the classifier while its decisions are priced


@dataclass(frozen=True)
class TrainingStep:
    """Progress: `done` of `due` in this phase."""

    phase: str
    done: int
    due: int
    detail: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)  # for pages that draw the progress


OnProgress = Callable[[TrainingStep], None]


@dataclass(frozen=True)
class RecordedSplits:
    training: RecordedSet
    validation: RecordedSet
    test: RecordedSet
    greedy: RecordedSet | None  # the validation prompts, if all others were recorded at a temperature


def make_classifier(
    pair: ModelPair,
    material: Splits,
    sampling: Sampling,
    *,
    design: str = OURS,
    on_progress: OnProgress = lambda step: None,
    cancelled: Callable[[], bool] = never,
) -> DraftClassifier:
    """Make the classifier and fill in its card; the caller stores it. Raise `Cancelled` if the recording is
    cancelled."""
    designs.check(design, pair.draft is None)
    recorded = record(pair, material, sampling, on_progress=on_progress, cancelled=cancelled)
    if cancelled():
        raise Cancelled("The training was cancelled while it recorded.")
    return learn(pair, recorded, material, sampling, on_progress, design)


def record(
    pair: ModelPair,
    material: Splits,
    sampling: Sampling,
    *,
    on_progress: OnProgress = lambda step: None,
    cancelled: Callable[[], bool] = never,
) -> RecordedSplits:
    """Record all prompts, before anything is timed."""

    def one(name: str, prompts: Sequence[PromptItem], tails: bool = True, is_greedy: bool = False) -> RecordedSet:
        return planning.study(
            pair,
            prompts,
            dataclasses.replace(sampling, temperature=0.0) if is_greedy else sampling,
            tails=tails,
            on_progress=lambda done: on_progress(TrainingStep(f"recording {name}", done, len(prompts))),
            cancelled=cancelled,
        )

    return RecordedSplits(
        one("training", material.training, tails=False),
        one("validation", material.validation),
        one("test", material.test),
        one("greedy texts", material.validation, is_greedy=True) if pair.draft and not sampling.is_greedy else None,
    )


def learn(
    pair: ModelPair,
    recorded: RecordedSplits,
    material: Splits,
    sampling: Sampling,
    on_progress: OnProgress = lambda step: None,
    design: str = OURS,
) -> DraftClassifier:
    parts = recorded.training, recorded.validation, recorded.test
    learnt, held_out, tested = (designs.label(design, part.recordings) for part in parts)
    classifier = designs.train(
        design,
        learnt,
        held_out,
        is_undrafted=pair.draft is None,
        on_progress=lambda progress: on_progress(_epoch(progress)),
    )
    tested = designs.judged(tested)
    pair.hold(HELD, classifier)
    costs = probing.probe(pair, material.validation, sampling, HELD, partial(_measuring, on_progress))
    thresholds = _tuned(recorded.validation, costs, classifier) if pair.draft else {}
    if classifier.knows_copies or pair.draft is None:
        thresholds[COPIED] = planning.best_for_copies(recorded.validation, costs, classifier)
    return dataclasses.replace(
        classifier,
        card={
            "pair": list(pair.fingerprints or ()),
            "draft_left_out": pair.draft_left_out,
            "features": list(features.NAMES),
            "design": design,
            "looks_at": [name for name in features.NAMES if name in classifier.sees],
            "thresholds": thresholds,
            "cap": planning.CAP,
            "sampling": sampling.to_dict(),
            "machine": pair.target.facts.device_name,
            "prompts": {name: len(getattr(material, name)) for name in PARTS},
            "shared": material.shared(),
            "data": {name: _digest(getattr(material, name)) for name in PARTS},
            "labelled": {"training": len(learnt.rows), "held_out": len(held_out.rows)},
            "metrics": dataclasses.asdict(metrics.measure(classifier(tested.rows), tested.accepted)),
            "costs": costs.for_one(),
            GREEDY: for_greedy(recorded.greedy, sampling, costs, classifier) if recorded.greedy else None,
            **_tested(recorded, costs, classifier, thresholds),
            "versions": {"definitions": DEFINITIONS_VERSION, "chance": CHANCE_VERSION, "torch": torch.__version__},
        },
    )


def _tested(
    recorded: RecordedSplits, costs: CostModel, classifier: DraftClassifier, thresholds: dict[str, float]
) -> dict[str, Any]:
    """Return the parts of the card that say how well it judges."""
    test = recorded.test
    of_copies = {COPIED: planning.sweep_of_copies(test, costs, classifier)} if COPIED in thresholds else {}
    return {
        "predicted": _predicted(test, costs, classifier, thresholds),
        "sweep": (of_copies if test.is_undrafted else planning.sweep(test, costs, classifier) | of_copies),
    }


def _digest(prompts: Sequence[PromptItem]) -> str:
    """Hash of the prompts' ids and texts."""
    return hashlib.sha256(json.dumps([[prompt.id, prompt.content] for prompt in prompts]).encode()).hexdigest()


def _measuring(on_progress: OnProgress, done: int, due: int) -> None:
    on_progress(TrainingStep("measuring costs", done, due))


def _epoch(progress: training.Progress) -> TrainingStep:
    losses = f"loss {progress.train_loss:.3f}, held out {progress.held_out_loss:.3f}"
    numbers = {
        "train_loss": progress.train_loss,
        "held_out_loss": progress.held_out_loss,
        "held_out_f1": progress.held_out_f1,
    }
    return TrainingStep("training", progress.epoch, progress.epochs, losses, numbers)


def _tuned(study: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> dict[str, float]:
    """Thresholds: the published rule's by search, the priced rule's from its price."""
    predictions = planning.predict(study, costs, classifier)
    tried = (p for p in predictions if p.choice.params.get("rule") == "threshold")
    searched = max(tried, key=lambda prediction: prediction.tokens_per_s).choice.params["threshold"]
    return {"threshold": float(searched), "priced": planning.price_of_a_token(study, costs, classifier)}


def for_greedy(
    study: RecordedSet, sampling: Sampling, costs: CostModel, classifier: DraftClassifier
) -> dict[str, Any] | None:
    """Return the part of a card that says how the classifier estimates on greedy texts; None if they cannot tell."""
    tokens = training.label(study.recordings)
    if not training.can_teach(tokens):
        return None
    scale, shift = training.platt(classifier, tokens)
    fitted = classifier.scaled(scale, shift)
    return dataclasses.asdict(
        Calibration(
            scale,
            shift,
            _tuned(study, costs, fitted),
            {PRICED: planning.sweep(study, costs, fitted)[PRICED]},
            dataclasses.replace(sampling, temperature=0.0).to_dict(),
            len(tokens.rows),
        )
    )


def _predicted(
    study: RecordedSet, costs: CostModel, classifier: DraftClassifier, thresholds: dict[str, float]
) -> dict[str, float]:
    """Speed-ups over autoregressive at thresholds that were tuned on other prompts; what is called best is chosen on
    these prompts."""
    if study.is_undrafted:
        return planning.copying(study, costs, classifier, thresholds[COPIED])
    baseline, play = study.play(planning.AUTOREGRESSIVE), study.play
    by_rule = planning.tuned(study, classifier, thresholds)
    return {
        "best static": max(costs.speedup(play(choice), baseline) for choice in planning.STATICS),
        planning.HEURISTIC.strategy: costs.speedup(play(planning.HEURISTIC), baseline),
        planning.ORACLE.strategy: costs.speedup(play(planning.ORACLE), baseline),
        **{f"disco:{rule}": costs.speedup(counts, baseline, "estimate") for rule, counts in by_rule.items()},
        **(planning.copying(study, costs, classifier, thresholds[COPIED]) if COPIED in thresholds else {}),
    }
