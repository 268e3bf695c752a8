"""Runs as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from webapp.comparisons.across.columns import COLUMNS
from webapp.comparisons.export import Echo, safe
from webapp.comparisons.models import RunQuerySet
from webapp.core.reading import each


def as_csv(rows: RunQuerySet) -> Iterator[str]:
    """Stream every column, one line a run."""
    writer = csv.writer(Echo())
    yield writer.writerow(("run", "strategy", *COLUMNS))
    for run in each(rows):
        yield writer.writerow(
            [safe(cell) for cell in (run.label, run.strategy, *(c.of(run) for c in COLUMNS.values()))]
        )
