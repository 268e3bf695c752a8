"""Table of a pair's classifiers on prompt sets: on its own set each is judged by its card, on others by plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from decoding.public import without_draft
from webapp.registry.models import Pair
from webapp.studies.kinds import PLAN
from webapp.studies.models import Classifier, Study

MOST_PLANS = 200


@dataclass(frozen=True, slots=True)
class Other:
    """The best that needs no classifier on the same prompts."""

    name: str
    speedup: float | None  # predicted


def other(judged: Mapping[str, Any]) -> Other:
    """Read what a plan set beside a classifier: static lookaheads, or copies on a target alone."""
    copy = judged.get("best_copy")
    return Other("best copy", copy) if copy else Other("best static", judged.get("best_static"))


@dataclass(frozen=True, slots=True)
class CrossCell:
    auc: float | None
    speedup: float | None  # predicted, by the better of DISCO's two rules, or of two strategies that ask about copies
    other: Other
    study: Study | None = None

    @property
    def gain(self) -> float | None:
        """Speed-up over the best without a classifier on the same prompts."""
        return self.speedup / self.other.speedup if self.speedup and self.other.speedup else None

    @property
    def gain_words(self) -> str:
        change = 100 * ((self.gain or 1) - 1)
        return f"{abs(change):.0f} % {'slower' if change < -0.5 else 'faster'} than {self.other.name}"


def table(pair: Pair) -> dict[str, Any]:
    """Return the names of the sets, and a row for each classifier."""
    classifiers = list(Classifier.objects.filter(pair=pair).kept().select_related("training__dataset"))
    plans = list(
        Study.objects.filter(pair=pair, job__kind=PLAN.slug, document__isnull=False)
        .kept()
        .select_related("dataset")
        .order_by("-created")[:MOST_PLANS]
    )
    known = {classifier.pk: _cells(classifier, plans) for classifier in classifiers}
    sets = sorted({name for cells in known.values() for name in cells})
    rows = [
        {"classifier": one, "trained_on": _trained_on(one), "cells": [known[one.pk].get(name) for name in sets]}
        for one in classifiers
    ]
    return {"sets": sets, "rows": rows}


def _trained_on(classifier: Classifier) -> str:
    training = getattr(classifier, "training", None)
    return training.dataset.name if training else ""


def _cells(classifier: Classifier, plans: Iterable[Study]) -> dict[str, CrossCell]:
    """Cells by prompt set; of several plans the newest counts. For its own set the card wins: its test prompts were not
    seen in training, while a plan's may have been."""
    cells: dict[str, CrossCell] = {}
    own = _trained_on(classifier)
    if own:
        cells[own] = _own_cell(classifier)
    for plan in plans:
        judged = next((row for row in plan.found("classifiers") or [] if row["classifier"] == str(classifier.pk)), None)
        if judged and plan.dataset.name not in cells:
            speedup = max(judged["speedups"].values())
            cells[plan.dataset.name] = CrossCell(judged["auc"], speedup, other(judged), plan)
    return cells


def _own_cell(classifier: Classifier) -> CrossCell:
    """Cell from the card: test prompts of its own set, not seen in training."""
    predicted: dict[str, Any] = classifier.card.get("predicted") or {}
    rules = [value for name, value in predicted.items() if name.startswith("disco:")]
    best = Other("best static", predicted.get("best static"))
    if not rules:
        rules = [*without_draft.judged_copies(predicted).values()]
        best = Other("best copy", without_draft.best_copy(predicted))
    return CrossCell(classifier.metrics.get("auc"), max(rules, default=None), best)
