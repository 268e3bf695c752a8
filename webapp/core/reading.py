"""Read some of many rows: first their ids, then their content. A database that sorts whole rows would carry 10,000 of
them to show 50."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Count, Func, JSONField, Model, QuerySet, Window

Row = TypeVar("Row", bound=Model)
AT_ONCE = 500


class Picked(Func):
    """Some values of a column of JSON as a list, so that only these are read. A path has dots between its names."""

    def __init__(self, column: str, *paths: str) -> None:
        super().__init__(column, output_field=JSONField())
        self.paths = paths

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, tuple[str | int, ...]]:
        column, params = compiler.compile(self.source_expressions[0])
        return f"JSON_EXTRACT({column}{', %s' * len(self.paths)})", (*params, *(f"$.{path}" for path in self.paths))

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.source_expressions[0])
        picked = ", ".join([f"{column} #> %s::text[]"] * len(self.paths))
        return f"jsonb_build_array({picked})", [each for path in self.paths for each in (*params, path.split("."))]


def part(rows: QuerySet[Row], start: int, stop: int) -> list[Row]:
    """Return the rows between two positions."""
    return _whole(rows, list(rows.values_list("pk", flat=True)[start:stop]))


def counted_part(rows: QuerySet[Row], start: int, stop: int) -> tuple[list[Row], int]:
    """Return the rows between two positions, and how many there are in all. What has to be sorted is read once for
    both; by age there is an index, and counting alone is quicker."""
    if str(rows.query.order_by[0]).endswith("created"):
        return part(rows, start, stop), rows.count()
    found = list(rows.annotate(total=Window(Count("*"))).values_list("pk", "total")[start:stop])
    total = found[0][1] if found else rows.count()
    return _whole(rows, [pk for pk, _ in found]), total


def each(rows: QuerySet[Row]) -> Iterator[Row]:
    """Yield all rows that exist now. Between batches only ids are held, and no query is open, however long the caller
    takes."""
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        yield from _whole(rows, ids[start : start + AT_ONCE])


def _whole(rows: QuerySet[Row], ids: Sequence[Any]) -> list[Row]:
    """Return rows in the order of these ids, without those that are gone. The ids were filtered before: SQLite would
    rather read all rows of a team again than look these up."""
    known = rows.order_by()
    known.query.clear_where()
    found = known.in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]
