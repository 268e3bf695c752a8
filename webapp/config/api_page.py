"""The REST API as a page in our own look, made from its OpenAPI schema."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.settings import spectacular_settings

METHODS = ("get", "post", "put", "patch", "delete")
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BodyField:
    name: str
    kinds: list[str]  # one, or its choices
    is_required: bool
    help: str


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    id: str
    help: str
    right: str
    query: list[BodyField]
    body: list[BodyField]
    answers: list[str]


@functools.cache
def groups() -> dict[str, list[Operation]]:
    """Every operation, by the first part of its path."""
    schema = spectacular_settings.DEFAULT_GENERATOR_CLASS().get_schema(public=True)
    found: dict[str, list[Operation]] = {}
    for path, operations in schema["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = _operation(schema, method, path, operations[method])
                found.setdefault(operations[method]["tags"][0], []).append(operation)
    return found


def _operation(schema: Schema, method: str, path: str, told: Schema) -> Operation:
    bodies = told.get("requestBody", {}).get("content", {})
    body = next((_resolved(schema, content["schema"]) for content in bodies.values()), {})
    query = [
        BodyField(one["name"], _kinds(one["schema"]), bool(one.get("required")), _line(one))
        for one in told.get("parameters", ())
        if one["in"] == "query"
    ]
    answers = list(told.get("responses", {}))
    fields = list(_fields(schema, body))
    return Operation(method.upper(), path, told["operationId"], _line(told), told["x-right"], query, fields, answers)


def _fields(schema: Schema, body: Schema) -> Iterator[BodyField]:
    required = body.get("required", ())
    for name, field in body.get("properties", {}).items():
        told = {**_resolved(schema, field), **{key: value for key, value in field.items() if key != "$ref"}}
        yield BodyField(name, _kinds(told), name in required, _line(told))


def _resolved(schema: Schema, part: Schema) -> Schema:
    """Follow the reference that a part of the schema is, alone or as the only choice."""
    for choice in part.get("allOf", part.get("oneOf", ()))[:1]:
        part = choice
    if "$ref" not in part:
        return part
    found: Schema = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[-1]]
    return found


def _kinds(field: Schema) -> list[str]:
    if "enum" in field:
        return [str(value) for value in field["enum"] if value is not None]
    kind = field.get("type", "object")
    if kind == "array":
        first, *others = _kinds(field.get("items", {}))
        return [f"list of {first}", *others]
    return [{"string": field.get("format", "text"), "integer": "whole number"}.get(str(kind), str(kind))]


def _line(told: Schema) -> str:
    """Description without marks of code, and without the list of choices, which the kind shows already."""
    return str(told.get("description", "")).split("* `")[0].strip().replace("`", "")
