"""Style sheet and marks of the strategies, made from `decoding/strategies` when static files are collected or found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

from decoding.public import STRATEGIES, Strategy


def style_sheet() -> str:
    """Return the style sheet: colours as `--SLUG`; `.s-SLUG` sets `--c` to one. `--bound` and `--classifier` are the
    colours of the bound and of the strategy that asks a classifier; `--if-ahead` hides what only strategies that
    prepare ahead have."""
    light = "".join(f" --{slug}: {strategy.looks.light};" for slug, strategy in STRATEGIES.items())
    dark = "".join(f" --{slug}: {s.looks.dark};" for slug, s in STRATEGIES.items() if s.looks.dark)
    bound = next(slug for slug, strategy in STRATEGIES.items() if strategy.role == "bound")
    asking = next(slug for slug, strategy in STRATEGIES.items() if strategy.sees == "estimate")
    return "\n".join(
        (
            f":root {{{light} }}",
            f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{{dark} }} }}',
            f':root[data-theme="dark"] {{{dark} }}',
            f":root {{ --bound: var(--{bound}); --classifier: var(--{asking}); }}",
            *(_rule(slug, strategy) for slug, strategy in STRATEGIES.items()),
            "",
        )
    )


def _rule(slug: str, strategy: Strategy) -> str:
    hidden = "" if strategy.prepares_ahead else " --if-ahead: none;"
    return f".s-{slug} {{ --c: var(--{slug});{hidden} }}"


def marks() -> str:
    """Return one symbol for each strategy, so that colour is never the only difference."""
    symbols = (
        f'  <symbol id="{slug}" viewBox="-10 -10 20 20"><path d="{strategy.looks.path}"/></symbol>\n'
        for slug, strategy in STRATEGIES.items()
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
