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
from decoding.backends.without_draft import lacks_draft
from decoding.core.loop import never
from decoding.dice.chance import CHANCE_VERSION
from decoding.dice.sampling import Sampling
from decoding.disco import features, judging, metrics, training
from decoding.disco.cards import OURS, PAPER, SOURCES
from decoding.disco.classifier import GREEDY, Calibration, DraftClassifier
from decoding.disco.copies import with_copies
from decoding.disco.prices import COPIED, PRICED
from decoding.disco.recording import Recording
from decoding.disco.training import EPOCHS, Labelled, OnEpoch
from decoding.errors import BadPair, Cancelled
from decoding.measure.definitions import DEFINITIONS_VERSION
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay import planning, probing
from decoding.replay.planning import RecordedSet
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
    if pair.draft is None and design != SOURCES:
        what = lacks_draft(f"A classifier of the design {design}")
        raise BadPair(f"{what} Take the design {SOURCES}, which learns from copies too.")
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
    learnt, held_out, tested = (label(design, part.recordings) for part in parts)
    classifier = train(
        design,
        learnt,
        held_out,
        is_undrafted=pair.draft is None,
        on_epoch=lambda *epoch: on_progress(_epoch(*epoch)),
    )
    tested = judged(tested)
    pair.hold(HELD, classifier)
    measuring = partial(TrainingStep, "measuring costs")
    costs = probing.probe(pair, material.validation, sampling, HELD, lambda *done: on_progress(measuring(*done)))
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


def _epoch(done: int, numbers: Mapping[str, float]) -> TrainingStep:
    losses = f"loss {numbers['train_loss']:.3f}, held out {numbers['held_out_loss']:.3f}"
    return TrainingStep("training", done, EPOCHS, losses, numbers)


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


# Designs: which networks are trained ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    columns: Sequence[str]  # the features that it sees
    hidden: int
    kind: str = "drafted"  # of the tokens that it judges


GLANCING = Network(features.GLANCE, training.HIDDEN)
OF_COPIES = Network(judging.SEEN, 16, "copied")
NETWORKS = {
    OURS: GLANCING,
    SOURCES: GLANCING,  # beside one of copies
    PAPER: Network(features.PUBLISHED, 64),  # the paper does not give the width of its network
}


def label(design: str, recordings: Sequence[Recording]) -> Labelled:
    """Label the tokens that a design learns from."""
    is_drafted = any(recording.is_drafted for recording in recordings)
    labelled = training.label(recordings) if is_drafted else training.NOTHING
    return with_copies(labelled, recordings) if design == SOURCES else labelled


def judged(labelled: Labelled) -> Labelled:
    """Return the tokens by which a card judges: drafted ones, and on a target alone copied ones. A figure over both
    would depend on how many there are of each."""
    drafts, copies = _by_kind(labelled)
    return drafts if len(drafts.rows) else copies


def train(
    design: str,
    part: Labelled,
    held_out: Labelled,
    *,
    is_undrafted: bool = False,
    on_epoch: OnEpoch = lambda done, numbers: None,
) -> DraftClassifier:
    """Train the network of drafted tokens, and with the design `sources` one of copied tokens beside it; on a target
    alone the latter only. `on_epoch` follows the first."""
    if is_undrafted:
        return training.train(part, held_out, **vars(OF_COPIES), on_epoch=on_epoch)
    network = NETWORKS[design]
    if design != SOURCES:
        return training.train(part, held_out, **vars(network), on_epoch=on_epoch)
    (drafts, copies), (held_drafts, held_copies) = _by_kind(part), _by_kind(held_out)
    drafted = training.train(drafts, held_drafts, **vars(network), on_epoch=on_epoch)
    return DraftClassifier(drafted.drafted, training.train(copies, held_copies, **vars(OF_COPIES)).drafted)


def _by_kind(labelled: Labelled) -> tuple[Labelled, Labelled]:
    """Divide the tokens into drafted and copied ones."""
    is_copied = labelled.rows[:, features.COPIED] > 0.0
    return labelled.only(~is_copied), labelled.only(is_copied)
