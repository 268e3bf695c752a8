"""What every API view reads with: bounded JSON, pages, and an order that exists.

Apart from `core.api`, because the framework imports these while its own views are still being made.
"""

from __future__ import annotations

from typing import Any

from rest_framework import filters, pagination
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from webapp.core import strict_json
from webapp.core.cursor import Bound, number
from webapp.core.problems import Invalid


class StrictJSONParser(JSONParser):
    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            value = strict_json.loads(stream.read() or b"{}")
        except ValueError as error:
            raise Invalid(str(error), code="bad-json") from None
        if not isinstance(value, dict):
            raise Invalid("The body must be a JSON object.", code="bad-json")
        return value


class Pages(pagination.LimitOffsetPagination):
    default_limit = 50
    max_limit = 500
    furthest = 1_000_000

    def get_limit(self, request: Request) -> int:
        return number(request, Bound("limit", self.default_limit, 1, self.max_limit))

    def get_offset(self, request: Request) -> int:
        return number(request, Bound("offset", 0, 0, self.furthest))

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        bounds = {"limit": (1, self.max_limit), "offset": (0, self.furthest)}
        return [
            {
                "name": name,
                "in": "query",
                "required": False,
                "schema": {"type": "integer", "minimum": low, "maximum": high},
            }
            for name, (low, high) in bounds.items()
        ]


class StrictOrdering(filters.OrderingFilter):
    def remove_invalid_fields(self, queryset: Any, fields: Any, view: Any, request: Request) -> list[str]:
        known = view.ordering_fields
        for field in fields:
            if field.lstrip("-") not in known or field.startswith("--"):
                raise Invalid(f"ordering is {field[:40]!r}; it can be {', '.join(known)}, or -{known[0]} and so on.",
                              field="ordering")  # fmt: skip
        return list(fields)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        known = [sign + name for name in getattr(view, "ordering_fields", ()) for sign in ("", "-")]
        if not known:
            return []
        schema = {"type": "string", "enum": known}
        return [{"name": "ordering", "in": "query", "required": False, "schema": schema}]
