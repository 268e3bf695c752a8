"""Shelves: where a study keeps finished pieces, so that a rerun need not make them again. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Shelf:
    """Keeps pieces of evidence and finished figures by name, in memory."""

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        self.kept = dict(kept or {})

    def read(self, name: str) -> Any:
        return self.kept.get(name)

    def holds(self, name: str) -> bool:
        return self.read(name) is not None

    def write(self, name: str, data: Any) -> None:
        self.kept[name] = data
