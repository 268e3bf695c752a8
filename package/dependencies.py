"""Dependencies of the wheel: the lines of requirements.txt, which hatchling asks for when it builds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

DATA_FOLDER = "platformdirs>=4.3,<5"  # an installed Drafthouse keeps its data where the platform says


class Dependencies(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = [*lines(Path(self.root), "requirements.txt"), DATA_FOLDER]


def lines(root: Path, name: str) -> Iterator[str]:
    """Read a requirements file and those that it includes."""
    for line in (root / name).read_text().splitlines():
        wish = line.partition("#")[0].strip()
        if wish.startswith("-r "):
            yield from lines(root, wish[3:].strip())
        elif wish:
            yield wish
