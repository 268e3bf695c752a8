"""Prompt files with unknown columns: a look at their content, and prompts made by a mapping and a template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from decoding.public import BadPrompts, BrokenRow, Prompt, prompt_containers, prompts
from webapp.core import strict_json
from webapp.core.problems import Invalid

ROLES = ("id", "category", "split", "reference")  # columns that can be mapped, besides those that the template names
_PLACE = re.compile(r"\{([^{}]{1,100})\}")
MOST_COLUMNS = 200


def head(text: str, name: str, count: int) -> list[Mapping[str, Any]]:
    """Return the first rows, as far as they can be read. A plain text has one column, `text`."""
    found: list[Mapping[str, Any]] = []
    with suppress(BadPrompts):  # `read` says what is wrong, with its place
        found.extend(islice(_rows(text, name), count))
    return found


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


def _rows(text: str, name: str) -> Iterator[Mapping[str, Any]]:
    for place, row in prompt_containers.rows(text.removeprefix("\ufeff"), name):
        if isinstance(row, BrokenRow):
            raise BadPrompts(f"{name}, {place} is broken: {row}. Fix it and load the file again.")
        yield row


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
