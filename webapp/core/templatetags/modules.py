"""Name all modules of a page in its head, so that a browser need not read one to learn of the next."""

from __future__ import annotations

import functools
import posixpath
import re
from pathlib import Path

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html_join

register = template.Library()
IMPORT = re.compile(r'^(?:import|export) .*?from "(\.[^"]+)";$', re.MULTILINE)


@register.simple_tag
def preload_modules(entry: str) -> str:
    return format_html_join(
        "\n  ", '<link rel="modulepreload" href="{}">', ((static(name),) for name in imported(entry))
    )


@functools.cache
def imported(entry: str) -> tuple[str, ...]:
    """List the modules that a module imports, directly or not, each once."""
    known: dict[str, None] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        for found in IMPORT.findall(Path(str(finders.find(name))).read_text(encoding="utf-8")):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), found))
            if path not in known:
                known[path] = None
                waiting.append(path)
    return tuple(known)
