"""Names and addresses of runs of many comparisons for people. A label tells classifiers apart by the first part of
their ids, which means nothing to anybody; the name here has the classifier's name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol
from uuid import UUID

from django.urls import reverse

from decoding.public import Choice, load_of
from webapp.studies.models import Classifier


class NamedRun(Protocol):
    """A run, or those columns of one that names are made of."""

    pk: UUID
    comparison_id: UUID
    strategy: str
    params: dict[str, Any]
    label: str
    concurrency: int | None
    rate: float | None
    recorded: bool


def names_of(runs: Sequence[NamedRun]) -> dict[UUID, str]:
    """Names of runs. Read classifiers once, and not at all if none decides."""
    called = {str(one.pk): one.name for one in _classifiers(runs)}
    return {run.pk: _name(run, called.get(run.params.get("classifier", ""))) for run in runs}


def classifiers_of(runs: Iterable[NamedRun]) -> list[str]:
    """Names of the classifiers that decide in these runs, each with the start of its id: two may share a name."""
    return sorted(f"{one.name} ({str(one.pk)[:8]})" for one in _classifiers(runs))


def _classifiers(runs: Iterable[NamedRun]) -> Iterable[Classifier]:
    ids = {run.params["classifier"] for run in runs if run.params.get("classifier")}
    return Classifier.objects.filter(pk__in=ids) if ids else []


def page_of(run: NamedRun) -> str:
    """Address of the run's comparison. Hundreds are shown at once, and each resolved anew takes as long as its row."""
    return _page().replace(str(UUID(int=0)), str(run.comparison_id))


@functools.cache
def _page() -> str:
    return reverse("comparison", args=[UUID(int=0)])


def _name(run: NamedRun, classifier: str | None) -> str:
    if classifier is None:  # the run uses none, or it is gone
        return run.label
    load = load_of({"concurrency": run.concurrency, "rate": run.rate, "recorded": run.recorded})
    rest = Choice(run.strategy, {**run.params, "classifier": ""}, load)
    return f"{rest.label} with {classifier}"
