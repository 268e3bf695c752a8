"""Rows of prompt files, and how a form reads their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


class BrokenRow(Exception):
    """Reason why one row is no prompt."""


def word(row: Row, *names: str) -> str:
    """First of these columns that the row has, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            raise BrokenRow(f"its {name!r} is not text")
    raise BrokenRow(f"it has no {' or '.join(map(repr, names))}")


def words(row: Row, name: str) -> list[str]:
    """Column that holds a list of texts, in any container."""
    value = row.get(name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BrokenRow(f"its {name!r} is not a list")
    found = list(value)
    if not found or not all(isinstance(one, str) for one in found):
        raise BrokenRow(f"its {name!r} holds no text")
    return found


def optional(row: Row, *names: str) -> str:
    """First of these columns that the row has, as text; empty if it has none."""
    return next((str(row[name]) for name in names if row.get(name) is not None), "")


def columns(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in sets)
