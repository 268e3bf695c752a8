"""Document of a plan, as plain data: the page and the REST API read it, and `plan --json` writes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decoding.backends import without_draft
from decoding.disco import metrics, training
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import with_copies
from decoding.disco.prices import COPIED
from decoding.disco.training import Labelled
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import AUTOREGRESSIVE, STATICS, Prediction, RecordedSet, copying, tuned
from decoding.strategies.disco import RULES

FORMAT = "drafthouse.plan/1"


def document_of(
    best: Sequence[Prediction],
    rows: Mapping[str, Mapping[str, Any]],
    predictions: Sequence[Prediction],
    costs: CostModel,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "settings": [_setting(each, rows.get(each.choice.label)) for each in best],
        "predictions": [_priced(prediction) for prediction in predictions],
        "costs": costs.for_one(),
        "context": costs.about_context,
        "elsewhere": [one for prediction in best for one in prediction.choice.elsewhere()],
    }


def _priced(prediction: Prediction) -> dict[str, Any]:
    choice = prediction.choice
    return {
        "strategy": choice.strategy,
        "kind": choice.kind,
        "params": dict(choice.params),
        "speedup": prediction.speedup,
        "tokens_per_s": prediction.tokens_per_s,
    }


def _setting(prediction: Prediction, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """One setting: its predicted speed-up and, if it was run, the measured one."""
    return {
        **_priced(prediction),
        "label": prediction.choice.label,
        "role": prediction.choice.spec.role,
        "measured": row["speedup"] if row else None,
        "audit": row["audit"] if row else None,
    }


Speeds = Callable[[DraftClassifier], dict[str, Any]]


def judged(recorded: RecordedSet, costs: CostModel, classifiers: Mapping[str, DraftClassifier]) -> list[dict[str, Any]]:
    """Judge each of the pair's classifiers on these prompts, at its own settings, whatever it was trained on. On a
    target alone that is on copies, if there are any."""
    if not classifiers:
        return []
    is_undrafted = recorded.is_undrafted
    labelled = (
        with_copies(training.NOTHING, recorded.recordings) if is_undrafted else training.label(recorded.recordings)
    )
    speeds = _of_copies(recorded, costs) if is_undrafted else _of_drafts(recorded, costs)
    return [_judged(name, each, labelled, speeds) for name, each in classifiers.items() if len(labelled.rows)]


def _judged(name: str, classifier: DraftClassifier, labelled: Labelled, speeds: Speeds) -> dict[str, Any]:
    scores = metrics.measure(classifier(labelled.rows), labelled.accepted)
    return {
        "classifier": name,
        "auc": None if math.isnan(scores.auc) else scores.auc,  # all tokens were accepted, or all refused
        "f1": scores.f1,
        "calibration_error": scores.calibration_error,
        **speeds(classifier),
    }


def _of_drafts(recorded: RecordedSet, costs: CostModel) -> Speeds:
    baseline = costs.tokens_per_s(recorded.play(AUTOREGRESSIVE))
    best = max(costs.tokens_per_s(recorded.play(choice)) for choice in STATICS) / baseline

    def speeds(classifier: DraftClassifier) -> dict[str, Any]:
        own = {rule: classifier.tuned(rule) for rule in RULES}
        counts = tuned(recorded, classifier, own)
        gains = {rule: costs.tokens_per_s(count, "estimate") / baseline for rule, count in counts.items()}
        return {"speedups": gains, "best_static": best}

    return speeds


def _of_copies(recorded: RecordedSet, costs: CostModel) -> Speeds:
    def speeds(classifier: DraftClassifier) -> dict[str, Any]:
        found = copying(recorded, costs, classifier, classifier.tuned(COPIED))
        return {"speedups": without_draft.judged_copies(found), "best_copy": without_draft.best_copy(found)}

    return speeds
