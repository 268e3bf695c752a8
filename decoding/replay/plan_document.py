"""Document of a plan, as plain data: the page and the REST API read it, and `plan --json` writes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from decoding.disco import metrics, training
from decoding.disco.classifier import Classifier
from decoding.replay.costs import Costs
from decoding.replay.planning import ALONE, STATICS, Prediction, Study, elsewhere, tuned
from decoding.strategies.disco import RULES

FORMAT = "drafthouse.plan/1"


def document_of(
    best: Sequence[Prediction],
    rows: Mapping[str, Mapping[str, Any]],
    predictions: Sequence[Prediction],
    costs: Costs,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "settings": [_setting(prediction, rows.get(prediction.choice.label)) for prediction in best],
        "predictions": [_priced(prediction) for prediction in predictions],
        "costs": dataclasses.asdict(costs),
        "elsewhere": elsewhere(best),
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


def judged(recorded: Study, costs: Costs, classifiers: Mapping[str, Classifier]) -> list[dict[str, Any]]:
    """Judge each of the pair's classifiers on these prompts, at its own settings, whatever it was trained on. A target
    alone has no drafted tokens to judge."""
    if not classifiers or recorded.is_alone:
        return []
    baseline = costs.tokens_per_s(recorded.play(ALONE))
    statics = [costs.tokens_per_s(recorded.play(choice)) for choice in STATICS]
    labelled = training.label(recorded.recordings)
    found = []
    for name, classifier in classifiers.items():
        scores = metrics.measure(classifier(labelled.rows), labelled.accepted)
        own = {rule: classifier.tuned(rule) for rule in RULES}
        counts = tuned(recorded, recorded.estimates(classifier), own)
        speeds = {rule: costs.tokens_per_s(count, "estimate") / baseline for rule, count in counts.items()}
        found.append(
            {
                "classifier": name,
                "auc": scores.auc,
                "f1": scores.f1,
                "calibration_error": scores.calibration_error,
                "speedups": speeds,
                "best_static": max(statics) / baseline,
            }
        )
    return found
