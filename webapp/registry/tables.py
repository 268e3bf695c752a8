"""Prompt files with unknown columns: a look at their content, and prompts made by a mapping and a template."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from decoding.public import BadPrompts, Prompt, bounded_json, is_json_array, prompt_containers, prompts, table_rows
from webapp.core import strict_json
from webapp.core.problems import Invalid

ROLES = ("id", "category", "split", "reference")  # columns that can be mapped, besides those that the template names
_PLACE = re.compile(r"\{([^{}]{1,100})\}")
MOST_COLUMNS = 200


def columns(text: str, name: str) -> list[str]:
    """Return the columns of the first row; a plain text has one, `text`."""
    return list(next(_rows(text, name), {}))[:MOST_COLUMNS]


def read(
    text: str, name: str, *, form: str = "", template: str = "", mapping: Mapping[str, str] | None = None
) -> list[Prompt]:
    """Read prompts in the form that is recognised or named, or make them from any columns by a template."""
    try:
        found = _read(text, name, form, template, mapping or {})
    except BadPrompts as error:
        raise Invalid(str(error), code=error.code) from None
    for prompt in found:
        try:
            for word in (prompt.id, prompt.text, prompt.category, prompt.reference):
                strict_json.check_text(word)
        except ValueError as error:
            raise Invalid(f"{name}, prompt {prompt.id[:40]!r}: {error}", code="bad-prompts") from None
    return found


def _read(text: str, name: str, form: str, template: str, mapping: Mapping[str, str]) -> list[Prompt]:
    if not template:
        return prompts.read_prompts(text, name, form=form or None)
    if not _PLACE.search(template):
        hint = "Write a column's name in braces where its text goes, such as {text}."
        raise Invalid("The template names no column, so all prompts would be the same.", field="template", hint=hint)
    rows = (_mapped(row, number, template, mapping) for number, row in enumerate(_rows(text, name), 1))
    return prompts.from_rows(rows, name, form="plain")


def _rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    ending = PurePath(name).suffix.lower()
    if ending in (".csv", ".tsv"):
        yield from _table_rows(text, name, "," if ending == ".csv" else "\t")
    elif ending in (".jsonl", ".ndjson", ".json"):
        yield from _json_rows(text, name)
    else:
        yield from ({"text": prompt.text} for prompt in prompts.read_prompts(text, name))


def _table_rows(text: str, name: str, delimiter: str) -> Iterator[dict[str, Any]]:
    try:
        rows = (cells for _, cells in table_rows(text, delimiter) if cells)
        columns = [column.strip() for column in next(rows, [])]
        for cells in rows:
            if len(cells) != len(columns):
                raise csv.Error(f"a row has {len(cells)} cells where the first line has {len(columns)}")
            yield dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise BadPrompts(f"{name} is not a table ({error}). Mend it and load it again.") from None


def _json_rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    try:
        whole = bounded_json.loads(text) if is_json_array(text) else None
        lines = (line for line in prompt_containers.lines(text) if not line.isspace())
        rows = map(bounded_json.loads, lines) if whole is None else whole
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise BadPrompts(f"{name}, row {number} is no JSON object. Mend it and load the file again.")
            yield row
    except ValueError as error:
        raise BadPrompts(f"{name} is no JSON ({error}). Mend it and load it again.") from None


def _mapped(row: Mapping[str, Any], number: int, template: str, mapping: Mapping[str, str]) -> dict[str, str]:
    def cell(column: str) -> str:
        if column not in row:
            there = ", ".join(str(name) for name in list(row)[:20])
            raise BadPrompts(f"Row {number} has no column {column!r}; it has {there}.")
        value = row[column]
        return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)

    places = _PLACE.findall(template)
    if (length := sum(len(cell(column)) for column in places)) > prompt_containers.LONGEST:
        raise BadPrompts(
            f"Row {number} makes a prompt of {length:,} characters; {prompt_containers.LONGEST:,} are the most."
        )
    text = _PLACE.sub(lambda match: cell(match[1]), template)
    return {"text": text, **{role: cell(column) for role, column in mapping.items() if column}}
