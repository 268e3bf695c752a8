"""Reading some of many rows: first which they are, then what they hold. A database that sorts whole rows carries along,
of ten thousand, what is shown of fifty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
AT_ONCE = 500


def part(rows: QuerySet[Row], start: int, stop: int) -> list[Row]:
    """Those from one position to another."""
    return _whole(rows, list(rows.values_list("pk", flat=True)[start:stop]))


def each(rows: QuerySet[Row]) -> Iterator[Row]:
    """All that are there now, however long it takes: in between, only their ids are held, and no reading is open."""
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        yield from _whole(rows, ids[start : start + AT_ONCE])


def _whole(rows: QuerySet[Row], ids: Sequence[Any]) -> list[Row]:
    """In this order; what has gone meanwhile is left out."""
    found = rows.order_by().in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]
