"""Names and addresses of runs of many comparisons for people. A label tells classifiers apart by the first part of
their ids, which means nothing to anybody; the name here has the classifier's name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.urls import reverse

from decoding.public import Choice
from webapp.comparisons.models import Run
from webapp.studies.models import Classifier


def names_of(runs: Sequence[Run]) -> dict[UUID, str]:
    """Names of runs. Read classifiers once, and not at all if none decides."""
    called = {str(one.pk): one.name for one in _classifiers(runs)}
    return {run.pk: _name(run, called.get(run.params.get("classifier", ""))) for run in runs}


def classifiers_of(runs: Iterable[Run]) -> list[str]:
    """Names of the classifiers that decide in these runs, each with the start of its id: two may share a name."""
    return sorted(f"{one.name} ({str(one.pk)[:8]})" for one in _classifiers(runs))


def _classifiers(runs: Iterable[Run]) -> Iterable[Classifier]:
    ids = {run.params["classifier"] for run in runs if run.params.get("classifier")}
    return Classifier.objects.filter(pk__in=ids) if ids else []


def page_of(run: Run) -> str:
    """Address of the run's comparison. Hundreds are shown at once, and each resolved anew takes as long as its row."""
    return _page().replace(str(UUID(int=0)), str(run.comparison_id))


@functools.cache
def _page() -> str:
    return reverse("comparison", args=[UUID(int=0)])


def _name(run: Run, classifier: str | None) -> str:
    if classifier is None:  # the run uses none, or it is gone
        return run.label
    rest = Choice(run.strategy, {**run.params, "classifier": ""}, run.load)
    return f"{rest.label} with {classifier}"
