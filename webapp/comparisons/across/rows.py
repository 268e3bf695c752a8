"""Runs as rows for page, REST and CSV: read without objects, of which a list would make thousands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from decoding.public import Choice, load_of
from webapp.comparisons.across.columns import COLUMNS
from webapp.comparisons.models import Figures, Run, RunQuerySet
from webapp.core.reading import AT_ONCE
from webapp.studies.models import Classifier

FIGURES = {  # in answers of REST, with their columns
    "conditions": "figures__conditions_id",
    "device": "figures__conditions__device",
    **{field.name: f"figures__{field.name}" for field in Figures._meta.fields if not field.is_relation},
}
READ = {
    "pk", "label", "strategy", "number", "params", "recorded", "comparison_id", "comparison__pair_id",
    "comparison__dataset_id", *FIGURES.values(), *(column.stored_in for column in COLUMNS.values()),
}  # fmt: skip

RunRow = Mapping[str, Any]  # by Django's spelling of the column


def read(ids: Sequence[UUID]) -> list[RunRow]:
    """Read these runs, in this order."""
    found = {row["pk"]: row for row in Run.objects.filter(pk__in=ids).order_by().values(*READ)}
    return [found[pk] for pk in ids if pk in found]


def table(runs: RunQuerySet) -> Iterator[tuple[Any, ...]]:
    """Yield every column, one row a run. Between batches only ids are held."""
    yield ("run", "strategy", *COLUMNS)
    ids = list(runs.values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        for row in read(ids[start : start + AT_ONCE]):
            yield (row["label"], row["strategy"], *(column.of(row) for column in COLUMNS.values()))


def names_of(rows: Sequence[RunRow]) -> dict[UUID, str]:
    """Names of runs for people. A label tells classifiers apart by the first part of their ids; the name here has the
    classifier's name."""
    called = {str(one.pk): one.name for one in _classifiers(row["params"] for row in rows)}
    return {row["pk"]: _name(row, called.get(row["params"].get("classifier", ""))) for row in rows}


def classifiers_of(runs: Iterable[Run]) -> list[str]:
    """Names of the classifiers that decide in these runs, each with the start of its id: two may share a name."""
    return sorted(f"{one.name} ({str(one.pk)[:8]})" for one in _classifiers(run.params for run in runs))


def _classifiers(settings: Iterable[Mapping[str, Any]]) -> Iterable[Classifier]:
    """Read classifiers once, and not at all if none decides."""
    ids = {params["classifier"] for params in settings if params.get("classifier")}
    return Classifier.objects.filter(pk__in=ids) if ids else []


def _name(row: RunRow, classifier: str | None) -> str:
    if classifier is None:  # the run uses none, or it is gone
        return str(row["label"])
    rest = Choice(row["strategy"], {**row["params"], "classifier": ""}, load_of(row))
    return f"{rest.label} with {classifier}"
