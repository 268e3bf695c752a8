"""Style sheet and marks of the strategies, made from `decoding/strategies` when static files are collected or found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

from decoding.public import FORMER, STRATEGIES, Looks


def _looks() -> list[tuple[str, Looks]]:
    """Return the looks of each strategy, and of those of earlier versions, which documents name."""
    return [(slug, STRATEGIES[slug].looks) for slug in (*STRATEGIES, *FORMER)]


def style_sheet() -> str:
    """The colour of each strategy on a light page and on a dark one: `.s-SLUG` sets `--c`."""
    return "".join(
        f".s-{slug} {{ --c: light-dark({looks.light}, {looks.dark or looks.light}); }}\n" for slug, looks in _looks()
    )


def marks() -> str:
    """Return one symbol for each strategy, so that colour is never the only difference."""
    symbols = (
        f'  <symbol id="{slug}" viewBox="-10 -10 20 20"><path d="{looks.path}"/></symbol>\n' for slug, looks in _looks()
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{"".join(symbols)}</svg>\n'


FILES = {"css/strategies.css": style_sheet, "marks.svg": marks}


class LooksFinder(BaseFinder):
    """Finds both among the static files, and writes them anew if a strategy has changed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.storage = FileSystemStorage(location=settings.DATA_DIR / "looks")
        for name, content in ((name, make()) for name, make in FILES.items()):
            path = Path(self.storage.path(name))
            if not path.exists() or path.read_text() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        found = self.storage.path(path) if path in FILES else ""
        return ([found] if found else []) if find_all or kwargs.get("all") else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        return ((name, self.storage) for name in FILES)
