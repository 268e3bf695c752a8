"""Files that are made as they are sent, for as long as whoever asked may have them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

from webapp.core.conditions import Conditions

CSV = "text/csv; charset=utf-8"
JSON_LINES = "application/jsonl; charset=utf-8"


class _Echo:
    def write(self, line: str) -> str:
        return line


def as_csv(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Write rows as lines of CSV."""
    writer = csv.writer(_Echo())
    return (writer.writerow(map(_safe, row)) for row in rows)


def _safe(cell: Any) -> Any:
    """Keep text as text that a spreadsheet would run as a formula."""
    if (isinstance(cell, str) and cell.lstrip().startswith(("=", "+", "-", "@"))) or str(cell).startswith(("\t", "\r")):
        return f"'{cell}"
    return cell


class Download(StreamingHttpResponse):
    """A table under a file name. It is cut off when one of the conditions breaks (`core.waiting`)."""

    def __init__(self, lines: Iterator[str], name: str, conditions: Conditions, kind: str = CSV) -> None:
        super().__init__(lines, content_type=kind)
        self["Content-Disposition"] = f'attachment; filename="{name}"'
        self.conditions = conditions
