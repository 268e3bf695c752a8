"""The pages of `docs/`: their order, their text, and what a search looks through.

`docs/README.md` lists the pages in their order, by section. Pages that it does not list, such as single decisions, can
be read too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from django.utils.text import slugify

from webapp.docs.markdown import Rendered, render

FOLDER = Path(__file__).resolve().parents[2] / "docs"
FIRST = "README"
GLOSSARY = "glossary"
SHOWN = frozenset({".md", ".json", ".yaml"})

Address = Callable[[str], str]  # a page's name, such as `decisions/README` → its address


@dataclass(frozen=True)
class Page:
    name: str
    title: str


@dataclass(frozen=True)
class Section:
    title: str
    entries: list[Page]


@cache
def contents() -> list[Section]:
    sections: list[Section] = []
    for line in (FOLDER / f"{FIRST}.md").read_text().splitlines():
        if line.startswith("## "):
            sections.append(Section(line[3:].strip(), []))
        elif sections and (link := re.match(r"- \[([^]]+)]\(([^):]+)\.md\)", line)):
            sections[-1].entries.append(Page(link[2], link[1]))
    return sections


@cache
def names() -> frozenset[str]:
    """All pages."""
    return frozenset(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.md"))


@cache
def read(name: str, address: Address) -> Rendered:
    """Render a page that is there, once: everybody may ask for it."""
    source = (FOLDER / f"{name}.md").read_text()
    return render(source, lambda link: _resolved(name, link, address))


def file(name: str) -> Path | None:
    """Return another file of the documentation, such as a schema."""
    path = (FOLDER / name).resolve()
    return path if path.is_relative_to(FOLDER) and path.suffix in SHOWN and path.is_file() else None


def _resolved(page: str, link: str, address: Address) -> str | None:
    """Return the address of a link that a page writes relative to its own file; None if it leads out of `docs/`."""
    if re.match(r"[a-z]+:|#", link):
        return link
    target, mark, anchor = link.partition("#")
    path = _normal(PurePosixPath(page).parent / target)
    if path is None:
        return None
    name = path.removesuffix(".md")
    if (FOLDER / name).is_dir():
        name = f"{name}/{FIRST}"
    return address(name) + mark + anchor if name in names() or file(name) else None


def _normal(path: PurePosixPath) -> str | None:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


@cache
def index(address: Address) -> list[dict[str, str]]:
    """One entry for each section of each listed page: what a search looks through."""
    found = []
    for section in contents():
        for entry in section.entries:
            page = read(entry.name, address)
            headings = {heading.anchor: heading.text for heading in page.headings}
            for anchor, words in page.sections:
                if anchor or words:
                    at = f"#{anchor}" if anchor and headings[anchor] != page.title else ""
                    heading = headings.get(anchor, "")
                    found.append(
                        {"page": page.title, "heading": heading, "at": address(entry.name) + at, "words": words}
                    )
    return found


@dataclass(frozen=True)
class Term:
    name: str
    anchor: str
    sentence: str


def anchor_of(word: str) -> str:
    """Return the address of a word on the glossary's page."""
    return slugify(word)


@cache
def terms() -> dict[str, Term]:
    """The words of the glossary, by their address."""
    found = {}
    for line in (FOLDER / f"{GLOSSARY}.md").read_text().splitlines():
        if row := re.match(r"\| (\*\*.+?) \| (.+) \|$", line):
            for name in re.findall(r"\*\*(.+?)\*\*", row[1]):
                anchor = anchor_of(name)
                found[anchor] = Term(name, anchor, re.sub(r"[*`]|\[([^]]*)]\([^)]*\)", r"\1", row[2]))
    return found
