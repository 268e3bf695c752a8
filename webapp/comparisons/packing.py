"""Pack many events into few bytes: column by column, because values of one field are alike, and whole numbers as
differences, because most grow evenly. Anything that JSON can hold comes back unchanged. `static/js/live/packed.js`
reads columns too."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

Event = dict[str, Any]


def pack(events: Sequence[Event], words: Mapping[str, str]) -> bytes:
    return zlib.compress(columns(events, words).encode(), 6)


def columns(events: Sequence[Event], words: Mapping[str, str]) -> str:
    """Write events and words as JSON. Events of one kind have the same fields; the order of kinds is a column like any
    other."""
    tables: dict[tuple[str, ...], list[Event]] = {}
    for event in events:
        tables.setdefault(tuple(event), []).append(event)
    numbers = {fields: number for number, fields in enumerate(tables)}
    document = {
        "kinds": [numbers[tuple(event)] for event in events],
        "tables": [
            {field: _steps([row[field] for row in rows]) for field in fields} for fields, rows in tables.items()
        ],
        "words": words,
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def columns_of(packed: bytes | memoryview) -> str:
    """Return the JSON that was packed."""
    return zlib.decompress(packed).decode()


def unpack(packed: bytes | memoryview) -> tuple[list[Event], dict[str, str]]:
    document = json.loads(columns_of(packed))
    rows = [_rows(table) for table in document["tables"]]
    return [next(rows[kind]) for kind in document["kinds"]], document["words"]


def _rows(table: Mapping[str, Any]) -> Any:
    columns = [_values(column) for column in table.values()]
    return (dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True))


def _steps(column: list[Any]) -> Any:
    if not all(type(value) is int for value in column):
        return column
    return {"steps": [column[0], *(after - before for before, after in pairwise(column))]}


def _values(column: Any) -> list[Any]:
    return list(accumulate(column["steps"])) if isinstance(column, dict) else column
