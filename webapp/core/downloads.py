"""Tables that are made as they are sent, for as long as whoever asked may have them."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import StreamingHttpResponse

from webapp.core.conditions import Conditions


class Download(StreamingHttpResponse):
    """Lines under a file name. It is cut off when one of the conditions breaks (`core.waiting`)."""

    def __init__(self, lines: Iterator[str], name: str, conditions: Conditions, kind: str = "text/csv") -> None:
        super().__init__(lines, content_type=f"{kind}; charset=utf-8")
        self["Content-Disposition"] = f'attachment; filename="{name}"'
        self.conditions = conditions
