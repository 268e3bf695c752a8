"""Shelves: where a study keeps finished pieces, so that a rerun need not make them again. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Shelf(Protocol):
    """Keeps pieces of evidence and finished figures by name."""

    def read(self, name: str) -> Any: ...

    def write(self, name: str, data: Any) -> None: ...


class InMemory(Shelf):
    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        self.kept = dict(kept or {})

    def read(self, name: str) -> Any:
        return self.kept.get(name)

    def write(self, name: str, data: Any) -> None:
        self.kept[name] = data


class ReportingShelf:
    """Shelf that reports what is put on it."""

    def __init__(self, shelf: Shelf, on_write: Callable[[str, Any], None]) -> None:
        self._shelf, self._on_write = shelf, on_write

    def read(self, name: str) -> Any:
        return self._shelf.read(name)

    def write(self, name: str, data: Any) -> None:
        self._shelf.write(name, data)
        self._on_write(name, data)


class StudyCancelled(Exception):
    """The study was cancelled. What was finished is on the shelf."""
