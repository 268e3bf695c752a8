"""What hatchling asks of us when it builds: the dependencies, and how an installed Drafthouse spells its command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

DATA_FOLDER = "platformdirs>=4.3,<5"  # an installed Drafthouse keeps its data where the platform says
IN_A_CLONE, INSTALLED = "./drafthouse", "drafthouse"
SPOKEN = {".html", ".js", ".json", ".md", ".py", ".yaml"}
AS_THEY_ARE = ("drafthouse", "docs/start.md", "starter/")  # speak of both, or are prompts


class Dependencies(MetadataHookInterface):
    """The lines of requirements.txt are the wheel's dependencies."""

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


class Command(BuildHookInterface):
    """Pages, messages and documents of the wheel say `drafthouse compare`, where the clone's say `./drafthouse`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            self.app.abort("Drafthouse cannot be installed as editable. In a clone use ./drafthouse.")
        if not Path(self.root, "static", "vendor", "htmx.js").exists():
            self.app.abort(
                "The browser libraries are missing. Build with python3 package/release.py, which fetches them."
            )
        self.folder = tempfile.TemporaryDirectory()
        for number, file in enumerate([*self.build_config.builder.recurse_included_files()]):
            name = str(Path(file.path).relative_to(self.root))
            if Path(name).suffix in SPOKEN and not name.startswith(AS_THEY_ARE):
                text = Path(file.path).read_text(encoding="utf-8")
                if IN_A_CLONE in text:
                    ours = Path(self.folder.name, str(number))
                    ours.write_text(text.replace(IN_A_CLONE, INSTALLED), encoding="utf-8")
                    build_data["force_include"][str(ours)] = name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()
