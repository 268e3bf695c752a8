"""Additions to every operation of the OpenAPI schema: refusals are problems, some lists are never empty, and bodies
hold no unknown names."""

from __future__ import annotations

from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from rest_framework.serializers import ListSerializer

_TEXT = {"type": "string"}
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "code": {**_TEXT, "description": "stable, for programs"},
        "detail": {**_TEXT, "description": "a sentence, for people"},
        "field": {**_TEXT, "description": "which input is meant, if one is"},
        "hint": {**_TEXT, "description": "what to do"},
        "request_id": _TEXT,
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}


USUAL = {  # verbs that most kinds have, for those without a sentence of their own
    "list": "List the {}.",
    "retrieve": "Show one of the {}.",
    "create": "Add one to the {}.",
    "partial_update": "Change one of the {}.",
    "destroy": "Delete one of the {}.",
    "restore": "Take one of the {} out of the bin.",
    "cancel": "Cancel one of the {}. What is finished stays.",
    "retry": "Queue one of the {} again. What is finished stays.",
}

NAMES = {"audit": "entries of the audit"}


class ProblemSchema(AutoSchema):
    def get_extensions(self) -> dict[str, Any]:
        """Add the right that the operation needs."""
        permission: Any = self.view.get_permissions()[0]
        return {"x-right": permission.needed(self.view, self.method)}

    def get_description(self) -> str:  # type: ignore[override]
        """Return the verb's own sentence, for a list also its view's, else what the verb usually does."""
        action = str(getattr(self.view, "action", ""))
        verb = getattr(type(self.view), action, None)
        is_told = getattr(verb, "__doc__", None) or (action == "list" and type(self.view).__doc__)
        if action in USUAL and not is_told:
            kind = self.path.removeprefix("/api/v1/").partition("/")[0]
            return USUAL[action].format(NAMES.get(kind, kind))
        return str(super().get_description())

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        bodies["4XX"] = {
            "description": "refused",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        return bodies

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Any:
        mapped = super()._map_basic_serializer(serializer, direction)
        return mapped | {"additionalProperties": False} if getattr(serializer, "is_strict", False) else mapped

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Any:
        mapped = super()._map_serializer_field(field, direction, bypass_extensions)
        if getattr(field, "takes_names", False):
            told = filter(None, (mapped.pop("description", ""), "an id, or a name that no other has"))
            mapped.pop("format", None)
            return mapped | {"description": "; ".join(told)}
        if not isinstance(field, ListSerializer):
            return mapped
        most = getattr(field, "max_length", None)  # the stubs lack it
        if getattr(field.child, "takes_words", False) and direction == "request":
            mapped |= {"items": {"oneOf": [mapped["items"], {"type": "string", "description": "such as static:4"}]}}
        bounds = {"minItems": None if field.allow_empty else 1, "maxItems": most}
        return mapped | {name: bound for name, bound in bounds.items() if bound}


def add_problem(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    result["components"]["schemas"]["Problem"] = PROBLEM
    return result
