"""The text of pages of `docs/`, what a search looks through, and the glossary's words."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.urls import reverse
from django.utils.text import slugify

from webapp.docs import FIRST, FOLDER, contents, names
from webapp.docs.markdown import Rendered, render

GLOSSARY = "glossary"
SHOWN = frozenset({".md", ".json", ".yaml"})


def address(name: str) -> str:
    return reverse("docs") if name == FIRST else reverse("docs-page", args=[name])


@cache
def read(name: str) -> Rendered:
    """Render a page that is there, once: everybody may ask for it."""
    return render((FOLDER / f"{name}.md").read_text(), lambda link: _resolved(name, link))


def file(name: str) -> Path | None:
    """Return another file of the documentation, such as a schema."""
    path = (FOLDER / name).resolve()
    return path if path.is_relative_to(FOLDER) and path.suffix in SHOWN and path.is_file() else None


def _resolved(page: str, link: str) -> str | None:
    """Return the address of a link that a page writes relative to its own file; None if it leads out of `docs/`."""
    if re.match(r"[a-z]+:|#", link):
        return link
    target, mark, anchor = link.partition("#")
    name = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)).removesuffix(".md")
    if (FOLDER / name).is_dir():
        name = f"{name}/{FIRST}"
    return address(name) + mark + anchor if name in names() or file(name) else None


@cache
def index() -> list[dict[str, str]]:
    """One entry for each section of each listed page: what a search looks through."""
    found = []
    for name in (name for pages in contents().values() for name in pages):
        page = read(name)
        headings = {heading.anchor: heading.text for heading in page.headings}
        for anchor, words in page.sections:
            if anchor or words:
                at = f"#{anchor}" if anchor and headings[anchor] != page.title else ""
                heading = headings.get(anchor, "")
                found.append({"page": page.title, "heading": heading, "at": address(name) + at, "words": words})
    return found


@dataclass(frozen=True)
class Term:
    name: str
    anchor: str
    sentence: str


def term(word: str) -> Term | None:
    """Find a word in the glossary."""
    return terms().get(slugify(word))


@cache
def terms() -> dict[str, Term]:
    """The words of the glossary, by their address on its page."""
    found = {}
    for line in (FOLDER / f"{GLOSSARY}.md").read_text().splitlines():
        if row := re.match(r"\| (\*\*.+?) \| (.+) \|$", line):
            for name in re.findall(r"\*\*(.+?)\*\*", row[1]):
                anchor = slugify(name)
                found[anchor] = Term(name, anchor, re.sub(r"[*`]|\[([^]]*)]\([^)]*\)", r"\1", row[2]))
    return found
