"""Files that are made as they are sent, for as long as whoever asked may have them."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import StreamingHttpResponse

from webapp.core.conditions import Conditions

CSV = "text/csv; charset=utf-8"
JSON_LINES = "application/jsonl; charset=utf-8"


class Download(StreamingHttpResponse):
    """A table under a file name. It is cut off when one of the conditions breaks (`core.waiting`)."""

    def __init__(self, lines: Iterator[str], name: str, conditions: Conditions, kind: str = CSV) -> None:
        super().__init__(lines, content_type=kind)
        self["Content-Disposition"] = f'attachment; filename="{name}"'
        self.conditions = conditions
