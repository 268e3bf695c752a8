"""Columns of a prompt file whose names say nothing to us: their types, and a guess at what each is for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from decoding.public import form_of, prompts
from webapp.registry import tables
from webapp.registry.tables import PromptText

PROBED = 50  # rows
SHOWN = 3
NAMES = {
    "category": ("category", "topic", "subject", "domain", "class", "label", "type", "kind"),
    "split": ("split", "half", "part", "fold"),
    "reference": ("reference", "answer", "output", "response", "solution", "target", "completion"),
}
PROMPTS = ("text", "prompt", "question", "instruction", "query", "input", "task", "problem", "sentence")


@dataclass(frozen=True, slots=True)
class PromptColumn:
    name: str
    kind: str  # text | number | yes or no | list | empty
    examples: list[str]
    values: list[Any]

    @property
    def length(self) -> float:
        """Mean length of its texts."""
        return sum(len(str(value)) for value in self.values) / max(1, len(self.values))


@dataclass(frozen=True, slots=True)
class PromptTable:
    columns: list[PromptColumn]
    is_known: bool  # its columns are those of a published form, or ours
    template: str  # of that form: what each row becomes
    guess: dict[str, str]  # role → column; `text` for the prompts themselves


def look(file: PromptText) -> PromptTable:
    rows = tables.head(file, PROBED)
    names = [str(column) for column in list(rows[0])[: tables.MOST_COLUMNS]] if rows else []
    columns = [_column(each, [row.get(each) for row in rows]) for each in names]
    form = form_of(rows[0]) if rows else None
    return PromptTable(columns, not rows or form is not None, form.template if form else "", _guess(columns))


def mapping_of(table: PromptTable) -> dict[str, Any]:
    """Return template and mapping that the guess stands for."""
    if "text" not in table.guess:
        return {}
    roles = {role: column for role, column in table.guess.items() if role != "text"}
    return {"template": f"{{{table.guess['text']}}}", "mapping": roles}


def _column(name: str, values: Sequence[Any]) -> PromptColumn:
    there = [value for value in values if value not in (None, "")]
    shown = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in there[:SHOWN]]
    return PromptColumn(name, _kind(there), shown, there)


def _kind(values: Sequence[Any]) -> str:
    if not values:
        return "empty"
    if all(isinstance(value, (list, dict)) for value in values):
        return "list"
    if all(str(value).lower() in ("true", "false", "yes", "no") for value in values):
        return "yes or no"
    return "number" if all(_is_number(value) for value in values) else "text"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _guess(columns: Sequence[PromptColumn]) -> dict[str, str]:
    left = {column.name: column for column in columns if not set(column.name) & set("{}")}
    found: dict[str, str] = {}
    for role, fits in (("split", _is_split), ("id", _is_id), ("category", _named), ("reference", _named)):
        if name := next((name for name, column in left.items() if fits(column, role)), ""):
            found[role] = name
            del left[name]
    texts = [column for column in left.values() if column.kind == "text"]
    named = [column for column in texts if column.name.lower() in PROMPTS]
    if texts:
        found["text"] = (named or [max(texts, key=lambda column: column.length)])[0].name
    return found


def _named(column: PromptColumn, role: str) -> bool:
    return column.kind != "list" and column.name.lower() in NAMES[role]


def _is_split(column: PromptColumn, role: str) -> bool:
    return bool(column.values) and all(str(value).lower() in prompts.SPLITS for value in column.values)


def _is_id(column: PromptColumn, role: str) -> bool:
    return column.name.lower() in prompts.IDS and len({str(value) for value in column.values}) == len(column.values)
