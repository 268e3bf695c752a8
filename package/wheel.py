"""What hatchling asks of us when it builds: the dependencies, and how an installed Drafthouse spells its command."""

from __future__ import annotations

import runpy
import tempfile
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
        launcher = runpy.run_path(str(Path(self.root, "drafthouse")))
        metadata["dependencies"] = [*launcher["wishes"]("requirements.txt"), DATA_FOLDER]


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
