"""Cursors into a log: the numbers that a query string may hold."""

from __future__ import annotations

from dataclasses import dataclass

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from webapp.core.problems import Invalid


@dataclass(frozen=True, slots=True)
class Bound:
    name: str
    default: int
    low: int
    high: int

    def asked(self, description: str = "") -> OpenApiParameter:
        """Return it as a parameter of the schema."""
        whole = {"type": "integer", "minimum": self.low, "maximum": self.high}
        return OpenApiParameter(self.name, whole, description=description)


AFTER = Bound("after", 0, 0, 2**31 - 1)
WAIT = Bound("wait", 0, 0, 25)


def number(request: Request, bound: Bound) -> int:
    text = request.query_params.get(bound.name, str(bound.default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and bound.low <= int(text) <= bound.high):
        raise Invalid(
            f"{bound.name} is {text[:40]!r}; it must be a whole number from {bound.low} to {bound.high}.",
            field=bound.name,
        )
    return int(text)
