"""Scripts of a page: its charts, and all its modules named in its head, so that a browser loads them at once."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html_join

register = template.Library()
IMPORT = re.compile(r'^((?:import|export) (?:.*?from )?)"(\.[^"]+)";$', re.MULTILINE)
CHARTS = "js/charts"
ON = re.compile(r"^export const on = \{(.*)\};$", re.MULTILINE)
RANK = re.compile(r'"?([\w-]+)"?: (\d+)')


@register.simple_tag
def preload_modules(entry: str, *sections: str) -> str:
    """Name a module, the charts of these sections, and whatever they import."""
    entries = [chart for section in sections for chart in charts_at(section)]
    names = dict.fromkeys([*entries, *(name for one in (entry, *entries) for name in imported(one))])
    return format_html_join("\n  ", '<link rel="modulepreload" href="{}">', ((static(name),) for name in names))


def of_whole_page(context: template.Context, what: str) -> dict[str, str]:
    """Return what tags note about a page while it is rendered, the same for all templates that it includes."""
    page: Any = context.render_context.dicts[0]
    notes: dict[str, str] = page.setdefault(what, {})
    return notes


def charts_at(section: str) -> list[str]:
    """Charts that name a section of a page. A chart is one file; whoever adds it need not list it anywhere."""
    ranked = [(rank, name) for name, at, rank in _ranked(Path(str(finders.find(CHARTS)))) if at == section]
    return [name for _, name in sorted(ranked)]


@functools.cache
def _ranked(folder: Path) -> tuple[tuple[str, str, int], ...]:
    """Every chart with each section that it names and its rank there."""
    return tuple(_ranks(folder))


def _ranks(folder: Path) -> Iterator[tuple[str, str, int]]:
    for path in folder.glob("*.js"):
        for named in ON.findall(path.read_text(encoding="utf-8")):
            for section, rank in RANK.findall(named):
                yield f"{CHARTS}/{path.name}", section, int(rank)


def resolved(importer: str, address: str) -> str:
    """Name the module that a module imports by a relative address."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), address))


@functools.cache
def imported(entry: str) -> tuple[str, ...]:
    """List the modules that a module imports, directly or not, each once."""
    known: dict[str, None] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        for _, found in IMPORT.findall(source(name)):
            path = resolved(name, found)
            if path not in known:
                known[path] = None
                waiting.append(path)
    return tuple(known)


def source(name: str) -> str:
    return Path(str(finders.find(name))).read_text(encoding="utf-8")
