"""Ids of models on the Hugging Face hub. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MAIN = "main"
REVISION = r"[A-Za-z0-9](?!.*(\.\.|//))[A-Za-z0-9._/-]{0,99}"
ID = rf"[A-Za-z0-9](?![^@]*(\.\.|--))[A-Za-z0-9._-]{{0,95}}/[A-Za-z0-9][A-Za-z0-9._-]{{0,95}}(@{REVISION})?"


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model of the hub, at a branch, a tag or a commit; without one, at the hub's main branch."""

    hub_id: str
    revision: str = ""

    @staticmethod
    def of_folder(folder: Path) -> HubModel | None:
        """Tell which model lies in this folder of the hub's cache, and which commit."""
        kind, *names = folder.parents[1].name.split("--") if folder.parent.name == "snapshots" else [""]
        return HubModel("/".join(names), folder.name) if kind == "models" else None

    @property
    def is_pinned(self) -> bool:
        return re.fullmatch("[0-9a-f]{40}", self.revision) is not None

    def __str__(self) -> str:
        return f"{self.hub_id} at {self.revision[:12]}" if self.revision else self.hub_id


def parse(text: str) -> HubModel | None:
    """Read `org/name` or `org/name@revision`."""
    hub_id, _, revision = text.partition("@")
    return HubModel(hub_id, revision) if re.fullmatch(ID, text) else None
