"""Schema of the report over REST: that of the file which `compare --json` writes, and the fields that only REST has."""

from __future__ import annotations

import json
from typing import Any

from webapp.docs import FOLDER

FILE: dict[str, Any] = json.loads((FOLDER / "compare.schema.json").read_text(encoding="utf-8"))
OF_FILE = ("verdict", "doubt", "loads", "crossovers", "objective", "warnings", "ranking", "is_noisy", "baseline",
           "definitions_version")  # fmt: skip
NULL = {"type": "null"}

Schema = dict[str, Any]


def _field(kind: str, description: str, **more: Any) -> Schema:
    return {"type": kind, "description": description, **more}


NOISY = _field("integer", "samples during which other programs used the machine")
MORE = {
    "sentence": _field("string", "the fastest strategy by load"),
    "samples": _field("integer", "finished samples, from which the report is computed"),
    "noisy_count": NOISY,
    "is_mixed": _field("boolean", "samples come from several devices, so the comparison is not fair"),
}
MORE_OF_STRATEGY = {
    "name": _field("string", "the label, shortened where no classifier's id is needed"),
    "settings": _field("string", "the name without the load"),
    "is_baseline": _field("boolean", "speed-ups at this load are relative to this row"),
    "sample_count": _field("integer", "finished samples"),
    "noisy_count": NOISY,
    "gained_tokens_per_s": _field("number", "tokens_per_s minus the baseline's", nullable=True),
    "hardware": _field("string", "what the strategy had to itself, and why requests waited"),
    "per_device": _field("number", "the speed-up divided by the number of its devices", nullable=True),
}


def _as_openapi(part: Any) -> Any:
    """Write a part of the file's schema as OpenAPI 3.0 does, which has one type for a value and a word for null."""
    if isinstance(part, list):
        return [_as_openapi(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {name: _as_openapi(value) for name, value in part.items() if name not in ("$ref", "oneOf", "type")}
    if "$ref" in part:
        return {**_as_openapi(FILE["$defs"][part["$ref"].rpartition("/")[2]]), **found}
    if "oneOf" in part:
        [other] = [_as_openapi(one) for one in part["oneOf"] if one != NULL]
        return {**other, **found, "nullable": True}
    types = part.get("type", [])
    if not isinstance(types, list):
        return {"type": types, **found}
    return {"type": types[0], **found, "nullable": True} if "null" in types else found  # of several types, any


def _strategy() -> Schema:
    row = _as_openapi(FILE["$defs"]["strategy"])
    del row["properties"]["samples"]
    required = [name for name in (*row["required"], *MORE_OF_STRATEGY) if name != "samples"]
    return {**row, "properties": {**row["properties"], **MORE_OF_STRATEGY}, "required": required}


def _report() -> Schema:
    properties = {name: _as_openapi(FILE["properties"][name]) for name in OF_FILE}
    strategies = {"type": "array", "items": _strategy()}
    return {"type": "object", "properties": {**properties, **MORE, "strategies": strategies}}


REPORT = _report()
