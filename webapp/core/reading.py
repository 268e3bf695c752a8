"""Read some of many rows: first their ids, then their content. A database that sorts whole rows would carry 10,000 of
them to show 50."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
AT_ONCE = 500


def part(rows: QuerySet[Row], start: int, stop: int) -> list[Row]:
    """Return the rows between two positions."""
    return _whole(rows, list(rows.values_list("pk", flat=True)[start:stop]))


def each(rows: QuerySet[Row]) -> Iterator[Row]:
    """Yield all rows that exist now. Between batches only ids are held, and no query is open, however long the caller
    takes."""
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        yield from _whole(rows, ids[start : start + AT_ONCE])


def _whole(rows: QuerySet[Row], ids: Sequence[Any]) -> list[Row]:
    """Return rows in the order of these ids, without those that are gone."""
    found = rows.order_by().in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]
