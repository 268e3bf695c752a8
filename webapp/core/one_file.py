"""A page as one HTML file: styles, scripts, marks and data are in it. It opens from a disk and may make no request: its
content security policy allows none."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpResponse
from django.template.loader import render_to_string
from django.templatetags.static import static

from webapp.core.templatetags.modules import IMPORT, charts_at, imported, resolved, source

STYLES = ("css/app.css", "css/strategies.css", "css/comparison.css", "css/studies.css")
MARKS = "marks.svg"


def one_file(
    template: str, context: Mapping[str, Any], *, entry: str, sections: tuple[str, ...], name: str
) -> HttpResponse:
    """Answer a page's template as a file to download. Without a request, the page has no buttons. `entry` is the page's
    module, `sections` are where it draws charts."""
    names = [entry, *(chart for section in sections for chart in charts_at(section))]
    inside = {
        "page_base": "core/one_file.html",
        "is_one_file": True,
        "styles": "\n".join(source(style) for style in STYLES),
        "marks": source(MARKS),
        "modules": _script(json.dumps({"imports": dict(_modules(names))})),
        "script": entry,
    }
    page = render_to_string(template, {**context, **inside}).replace(static(MARKS), "")
    answer = HttpResponse(page, content_type="text/html; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.html"'
    return answer


def _modules(entries: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each module that these import, by its name, as a data URL. Modules in data URLs have no folder, so they
    name each other as the import map does."""
    for name in dict.fromkeys([*entries, *(inner for entry in entries for inner in imported(entry))]):
        encoded = base64.b64encode(_by_name(name).encode()).decode()
        yield name, f"data:text/javascript;base64,{encoded}"


def _by_name(name: str) -> str:
    """Text of a module that imports others by their names."""

    def named(found: re.Match[str]) -> str:
        return f'{found[1]}"{resolved(name, found[2])}";'

    return IMPORT.sub(named, source(name))


def _script(text: str) -> str:
    """Make text safe inside a script element."""
    return text.replace("</", "<\\/")
