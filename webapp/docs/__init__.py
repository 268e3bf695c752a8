"""The documentation in `docs/`, served by the lab at /docs/, and without Django by `./drafthouse docs`.

`docs/README.md` lists the pages in their order, by section. Pages that it does not list, such as single decisions, can
be read too.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs"
FIRST = "README"


@cache
def contents() -> dict[str, dict[str, str]]:
    """Sections, each with the titles of its pages by their names, such as `decisions/README`."""
    sections: dict[str, dict[str, str]] = {}
    for line in (FOLDER / f"{FIRST}.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            pages = sections.setdefault(line[3:].strip(), {})
        elif sections and (link := re.match(r"- \[([^]]+)]\(([^):]+)\.md\)", line)):
            pages[link[2]] = link[1]
    return sections


@cache
def names() -> frozenset[str]:
    """All pages."""
    return frozenset(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.md"))
