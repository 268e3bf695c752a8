"""Readers of every API view: bounded numbers and JSON, pages, strict filters and strict ordering.

Apart from `core.api`, because the framework imports these while its own views are still being made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django_filters.rest_framework import (
    BooleanFilter,
    CharFilter,
    ChoiceFilter,
    DjangoFilterBackend,
    UUIDFilter,
)
from drf_spectacular.utils import OpenApiParameter
from rest_framework import filters, pagination
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from webapp.core import strict_json
from webapp.core.problems import Invalid, TooLarge
from webapp.core.reading import counted_part


@dataclass(frozen=True, slots=True)
class Bound:
    name: str
    default: int
    low: int
    high: int

    def asked(self, description: str = "") -> OpenApiParameter:
        """Return it as a parameter of the schema."""
        return OpenApiParameter(self.name, self.schema, description=description)

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


AFTER = Bound("after", 0, 0, 2**31 - 1)
WAIT = Bound("wait", 0, 0, 25)
LIMIT, OFFSET = Bound("limit", 50, 1, 500), Bound("offset", 0, 0, 1_000_000)  # of a page


def number(request: Request, bound: Bound) -> int:
    text = request.query_params.get(bound.name, str(bound.default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and bound.low <= int(text) <= bound.high):
        raise Invalid(
            f"{bound.name} is {text[:40]!r}; it must be a whole number from {bound.low} to {bound.high}.",
            field=bound.name,
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class Body:
    """How much JSON a view takes. A view that takes more than usual sets `body`."""

    bytes: int = 1024 * 1024
    values: int = 10_000


class StrictJSONParser(JSONParser):
    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        most: Body = getattr((parser_context or {}).get("view"), "body", None) or Body()
        text = stream.read(most.bytes + 1)
        if len(text) > most.bytes:
            raise TooLarge(f"A JSON body may have {most.bytes:,} bytes here.", hint="Send files in chunks, as uploads.")
        try:
            value = strict_json.loads(text or b"{}", most=most.values)
        except ValueError as error:
            raise Invalid(str(error), code="bad-json") from None
        if not isinstance(value, dict):
            raise Invalid("The body must be a JSON object.", code="bad-json")
        return value


class Pages(pagination.LimitOffsetPagination):
    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.request = request
        self.limit, self.offset = number(request, LIMIT), number(request, OFFSET)
        found, self.count = counted_part(queryset, self.offset, self.offset + self.limit)
        return found

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [{"name": one.name, "in": "query", "required": False, "schema": one.schema} for one in (LIMIT, OFFSET)]


class StrictFilters(DjangoFilterBackend):
    """Refuses filters that cannot be read, such as `?pair=` or `?binned=perhaps`, instead of ignoring them."""

    def get_filterset(self, request: Request, queryset: Any, view: Any) -> Any:
        filterset = super().get_filterset(request, queryset, view)
        if filterset is None:
            return None
        for name, sentences in filterset.errors.items():
            raise _unreadable(name, request, filterset.filters[name], str(sentences[0]))
        for name, value in filterset.form.cleaned_data.items():
            if (
                name in request.query_params
                and value in (None, "")
                and not isinstance(filterset.filters[name], CharFilter)
            ):
                raise _unreadable(name, request, filterset.filters[name], "This filter cannot have that value.")
        return filterset


def _unreadable(name: str, request: Request, wanted: Any, why: str) -> Invalid:
    if isinstance(wanted, ChoiceFilter):
        why = f"It can be {', '.join(str(value) for value, _ in wanted.extra['choices'])}."
    elif isinstance(wanted, UUIDFilter):
        why = "It must be an id."
    elif isinstance(wanted, BooleanFilter):
        why = "It can be true or false."
    value = request.query_params.get(name, "")[:40]
    return Invalid(f"{name} is {value!r}. {why}", field=name, hint="Or leave it out.")


class StrictOrdering(filters.OrderingFilter):
    """Orders by the given fields, then by id, so that no page skips or repeats a row."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        return queryset.order_by(*(self.get_ordering(request, queryset, view) or ()), "pk")

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> Any:
        if request.query_params.get(self.ordering_param) == "":  # the framework would take it for none
            self.remove_invalid_fields(queryset, [""], view, request)
        return super().get_ordering(request, queryset, view)

    def remove_invalid_fields(self, queryset: Any, fields: Any, view: Any, request: Request) -> list[str]:
        known = view.ordering_fields
        if len(fields) > len(known):
            raise Invalid(f"ordering has {len(fields)} names; it can have {len(known)}.", field="ordering")
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
