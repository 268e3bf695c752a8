"""Prompt files with unknown columns: a look at their content, and prompts made by a mapping and a template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from decoding.public import BadPrompts, BrokenRow, PromptItem, prompt_containers, prompts
from webapp.core.problems import Invalid

Placed = prompt_containers.Placed

ROLES = ("id", "category", "split", "reference")  # columns that can be mapped, besides those that the template names
_PLACE = re.compile(r"\{([^{}]{1,100})\}")
MOST_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt file's text, and how its rows become prompts."""

    file_name: str
    text: str
    form: str = ""
    template: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False  # the text is only the file's beginning


def head(file: PromptText, count: int) -> list[Mapping[str, Any]]:
    """Return the first rows, as far as they can be read. A plain text has one column, `text`."""
    found: list[Mapping[str, Any]] = []
    with suppress(BadPrompts):  # `read` says what is wrong, with its place
        for _, row in islice(prompts.rows_in(file.text, file.file_name), count):
            if isinstance(row, BrokenRow):
                break
            found.append(row)
    return found


def read(file: PromptText) -> list[PromptItem]:
    """Read prompts in the form that is recognised or named, or make them from any columns by a template."""
    with _told():
        return _read(file, prompts.rows_in(file.text, file.file_name))


def read_first(file: PromptText, count: int) -> tuple[list[PromptItem], bool]:
    """Read the prompts of the first rows, and tell whether these are all rows."""
    with _told():
        rows = prompts.rows_in(file.text, file.file_name)
        found, are_all = prompt_containers.first_rows(rows, count, is_cut=file.is_cut)
        if not found and not are_all:
            raise BadPrompts(
                f"The first row of {file.file_name} is too long for a preview. Add the prompts to read it."
            )
        return _read(file, found), are_all


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BadPrompts as error:
        raise Invalid(str(error), code=error.code) from None


def _read(file: PromptText, rows: Iterable[Placed]) -> list[PromptItem]:
    if not file.template:
        return prompts.from_rows(rows, file.file_name, form=file.form or None)
    if _PLACE.search(file.template):
        return prompts.from_rows(_mapped_rows(file, rows), file.file_name, form="plain")
    hint = "Write a column's name in braces where its text goes, such as {text}."
    raise Invalid("The template names no column, so all prompts would be the same.", field="template", hint=hint)


def _mapped_rows(file: PromptText, rows: Iterable[Placed]) -> Iterator[Placed]:
    for number, (place, row) in enumerate(rows, 1):
        if isinstance(row, BrokenRow):
            raise BadPrompts(f"{file.file_name}, {place} is broken: {row}. Fix it and load the file again.")
        yield place, _mapped(row, number, file.template, file.mapping)


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
