"""Base classes of the API: strict input, and rows that the actor may see. Refusals are in `core.refusals`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from decoding.public import meant
from webapp.core.naming import apart
from webapp.core.problems import Invalid, NotFound

MOST_UNKNOWN = 10  # names that are reported

# Input ---------------------------------------------------------------------------------------------------------------


class Input(serializers.Serializer[Any]):
    """A body. Names it does not know are refused, so that a misspelt setting is not silently ignored."""

    is_strict = True  # the schema says so too

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError(self.no_object(data))
        if unknown := set(data) - set(self.fields):
            raise serializers.ValidationError(_unknown(unknown, self.fields))
        if self.context.get("is_json"):
            misfits = {name: why for name in data if (why := _misfit(self.fields[name], data[name]))}
            if misfits:
                raise serializers.ValidationError(misfits)
        read = super().to_internal_value(data)
        if endless := [name for name, value in read.items() if isinstance(value, float) and not math.isfinite(value)]:
            raise serializers.ValidationError({name: "This must be a finite number." for name in endless})
        return read

    def no_object(self, data: Any) -> str:
        return f"This is {_brief(data)}; it must be an object with these fields: {', '.join(self.fields)}."


def _unknown(names: set[str], fields: Iterable[str]) -> dict[str, str]:
    """Return an error for each of the first unknown names."""
    known = ", ".join(fields) or "nothing"
    first = sorted(names)[:MOST_UNKNOWN]
    return {name[:40]: f"This is not known here; known are {known}.{meant(name, fields)}" for name in first}


_IN_JSON: tuple[tuple[Any, tuple[type, ...], str], ...] = (
    ((serializers.ListField, serializers.ListSerializer), (list,), "a list"),
    (serializers.DictField, (dict,), "an object"),
    (serializers.BooleanField, (bool,), "true or false"),
    (serializers.CharField, (str,), "a text"),
    (serializers.IntegerField, (int, float), "a number"),
    (serializers.FloatField, (int, float), "a number"),
)


def _misfit(field: Any, value: Any) -> str:
    """Describe a value of the wrong type. Fields also read numbers from texts, because forms send only texts; JSON may
    not."""
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return _misfit_in(field, value)
    if isinstance(field, serializers.ChoiceField) and value not in ("", None) and str(value) not in field.choices:
        known = [str(choice) for choice in field.choices]
        return f"This is {_brief(value)}, which is not one of {', '.join(known)}.{meant(str(value), known)}"
    types, name = _due(field)
    if types and not _fits(value, types):
        return f"This is {_brief(value)}; it must be {name}."
    return _padded(field, value) if isinstance(value, str) else ""


def _padded(field: Any, text: str) -> str:
    """Describe a text that is too long for the schema and fits once the space around it is taken off."""
    most = field.max_length if isinstance(field, serializers.CharField) else None
    if not most or not len(text.strip()) <= most < len(text):
        return ""
    return f"This has {len(text)} characters with the space around it; it must have at most {most}."


def _misfit_in(field: Any, values: list[Any]) -> str:
    """Describe the first entry of the wrong kind. A list that is too long is refused for its length instead."""
    types, name = _due(field.child)
    if not types or len(values) > (field.max_length or 0):
        return ""
    return next((f"This is {_brief(each)}; it must be {name}." for each in values if not _fits(each, types)), "")


def _due(field: Any) -> tuple[tuple[type, ...], str]:
    return next(((types, name) for kind, types, name in _IN_JSON if isinstance(field, kind)), ((), ""))


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    return value is None or type(value) in types


def _brief(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:40]


class _Id(serializers.UUIDField):
    default_error_messages = {"invalid": "This is {value!s:.40}; it must be an id, as the lists of the API show it."}


def _is_id(text: str) -> bool:
    try:
        return bool(UUID(text))
    except ValueError:
        return False


MOST_ALIKE = 20  # things of one name that are counted


class Visible(serializers.PrimaryKeyRelatedField[Any]):
    """A field that names another thing by its id, or by a name that no other has. Things that the actor may not see
    count as missing."""

    takes_names = True  # the schema says so too
    default_error_messages = {
        "does_not_exist": "There is none with the id {pk_value}, or you may not see it.",
        "unknown": "This is {name:.40}; it must be an id, as the lists of the API show it, or the name of one of them.",
        "ambiguous": "{count} are called {name:.40}. Give the id of the one that you mean.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(pk_field=_Id(), **options)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or _is_id(data):
            return super().to_internal_value(data)
        found = list(self.get_queryset().filter(name=data.replace("\0", ""))[:MOST_ALIKE])
        if len(found) != 1:
            self.fail("ambiguous" if found else "unknown", name=data, count=len(found))
        return found[0]

    def get_queryset(self) -> Any:
        rows: Any = super().get_queryset()
        actor = self.context.get("actor")
        return rows.visible_to(actor).kept() if actor else rows.none()

    def display_value(self, instance: Any) -> str:
        return str(instance)

    def get_choices(self, cutoff: int | None = None) -> dict[Any, str]:
        """Offer the things by name. Add when they were made to those that share one."""
        rows = list(self.get_queryset()[:cutoff])
        names = apart([self.display_value(row) for row in rows], rows)
        return dict(zip(map(self.to_representation, rows), names, strict=True))


# Output --------------------------------------------------------------------------------------------------------------


class Named(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class Output(serializers.ModelSerializer[Any]):
    """A thing as it is shown."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            field.read_only = True
        return fields


class Nouns(viewsets.GenericViewSet[Any]):
    """The rows of one kind that the actor may see: `list` and `retrieve`, and tools for the verbs of subclasses."""

    ordering_fields: tuple[str, ...] = ("created",)
    ordering: tuple[str, ...] = ("-created",)
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]  # else an action `trace` is TRACE
    query_names: tuple[str, ...] = ()  # the query parameters of actions other than list

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.action not in (None, "metadata"):  # None: a method that this address does not take
            self._refuse_unknown_query(request)

    @property
    def actor(self) -> Any:
        """The accounts.actor.Actor of the request; this module does not know the class."""
        return self.request.auth

    def get_queryset(self) -> Any:
        rows: Any = super().get_queryset()
        return rows if getattr(self, "swagger_fake_view", False) else rows.visible_to(self.actor)

    def get_object(self) -> Any:
        return self.parent(self.get_queryset(), self.kwargs["pk"])

    def parent(self, rows: Any, pk: Any) -> Any:
        """Return one of the rows that the actor may see; raise NotFound otherwise."""
        found = rows.filter(pk=pk).first()
        if found is None:
            raise NotFound(f"There is no {rows.model._meta.verbose_name} {pk}, or you may not see it.")
        return found

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "actor": getattr(self.request, "auth", None)}

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.shown(self.get_object())

    def read(self, kind: type[serializers.Serializer[Any]], **context: Any) -> dict[str, Any]:
        """Return the validated body."""
        body = kind(data=self.request.data, context={**self.get_serializer_context(), "is_json": True, **context})
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)

    def shown(self, instance: Any, status: int = 200, **extra: Any) -> Response:
        body = {**self.get_serializer(instance).data, **extra}
        response = Response(body, status=status)
        if status in (201, 202):
            response["Location"] = self.address(instance)
        return response

    def address(self, instance: Any) -> str:
        return str(self.reverse_action("detail", args=[instance.pk]))

    def _refuse_unknown_query(self, request: Request) -> None:
        known = {"format", *self.query_names}
        if getattr(self, "action", "") == "list":
            filters_ = getattr(self, "filterset_class", None)
            known |= {"limit", "offset", "ordering", *(filters_.base_filters if filters_ else ())}
        for name in request.query_params:
            if name not in known:
                detail = f"There is no query parameter {name[:40]!r}; known are {', '.join(sorted(known))}."
                raise Invalid(detail + meant(name, known), field=name[:40])
