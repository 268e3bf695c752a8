"""The documentation as a folder of HTML files. It needs no server: it can be read and searched from a disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from django.template.loader import render_to_string

from webapp.docs import library

ROOT = Path(__file__).resolve().parents[2]
FILES = ("static/css/app.css", "static/css/docs.css", "static/js/pages/docs.js")


def write(folder: Path) -> int:
    """Write all pages into the folder, and return how many."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in FILES:
        shutil.copy(ROOT / each, folder)
    for name in sorted(library.names()):
        _write_page(folder, name)
    for path in library.FOLDER.rglob("*"):
        name = str(path.relative_to(library.FOLDER))
        if path.suffix != ".md" and library.file(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
    index = json.dumps(library.index(lambda name: _place(name)))
    (folder / "index.js").write_text(f"window.drafthouseDocs = {index};\n")
    return len(library.names())


def _place(name: str) -> str:
    """Return where a page lies within the folder."""
    return "index.html" if name == library.FIRST else name if library.file(name) else f"{name}.html"


def _write_page(folder: Path, name: str) -> None:
    root = "../" * name.count("/")
    page = library.read(name, lambda other: root + _place(other))
    sections = [
        (s.title, [(e.title, root + _place(e.name), e.name == name) for e in s.entries]) for s in library.contents()
    ]
    path = folder / _place(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        render_to_string("docs/site.html", {"page": page, "sections": sections, "root": root, "index": root})
    )
