"""Results of a pair's classifiers on prompt sets that they were not trained on: their own set from the card, others
from plans that judged them there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from webapp.jobs.models import Kind
from webapp.registry.models import Classifier, Pair
from webapp.studies.models import Study

MOST_PLANS = 200


@dataclass(frozen=True, slots=True)
class Cell:
    auc: float | None
    speedup: float | None  # predicted, by the better of DISCO's two rules
    best_static: float | None
    study: Study | None = None

    @property
    def gain(self) -> float | None:
        """Speed-up over the best static lookahead on the same prompts."""
        return self.speedup / self.best_static if self.speedup and self.best_static else None

    @property
    def gain_words(self) -> str:
        change = 100 * ((self.gain or 1) - 1)
        return f"{abs(change):.0f} % {'slower' if change < -0.5 else 'faster'} than best static"


@dataclass(frozen=True, slots=True)
class Row:
    classifier: Classifier
    trained_on: str
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class Table:
    sets: list[str]
    rows: list[Row]


def table(pair: Pair) -> Table:
    classifiers = list(Classifier.objects.filter(pair=pair).kept().select_related("training__dataset"))
    plans = list(
        Study.objects.filter(pair=pair, job__kind=Kind.PLAN, document__isnull=False)
        .kept()
        .select_related("dataset")
        .order_by("-created")[:MOST_PLANS]
    )
    known = {classifier.pk: _cells(classifier, plans) for classifier in classifiers}
    sets = sorted({name for cells in known.values() for name in cells})
    rows = [
        Row(classifier, _trained_on(classifier), [known[classifier.pk].get(name) for name in sets])
        for classifier in classifiers
    ]
    return Table(sets, rows)


def _trained_on(classifier: Classifier) -> str:
    training = getattr(classifier, "training", None)
    return training.dataset.name if training else ""


def _cells(classifier: Classifier, plans: Iterable[Study]) -> dict[str, Cell]:
    """Return a classifier's results by prompt set; of several plans the newest counts. Its own set comes from the card,
    whose test prompts it has not seen: a plan on that set could use prompts that it has seen."""
    cells: dict[str, Cell] = {}
    own = _trained_on(classifier)
    if own:
        cells[own] = _own_cell(classifier)
    for plan in plans:
        judged = next((row for row in plan.found("classifiers") or [] if row["classifier"] == str(classifier.pk)), None)
        if judged and plan.dataset.name not in cells:
            cells[plan.dataset.name] = Cell(
                judged["auc"], max(judged["speedups"].values()), judged["best_static"], plan
            )
    return cells


def _own_cell(classifier: Classifier) -> Cell:
    """Read from the card the result on its own set's test prompts, which it has not seen."""
    predicted: dict[str, Any] = classifier.card.get("predicted") or {}
    rules = [value for name, value in predicted.items() if name.startswith("disco:")]
    return Cell(classifier.metrics.get("auc"), max(rules, default=None), predicted.get("best static"))
