"""Every URL of the service, from the service itself, with the methods that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver, reverse

UNGUARDED = {  # views that are not made by `page` or DRF, and what they take
    "docs": ["GET"],
    "docs-page": ["GET"],
    "sign-in": ["GET", "POST"],
    "sign-out": ["POST"],
    "enter": ["GET", "POST"],
    "join": ["GET", "POST"],
    "shared": ["GET"],
    "shared-file": ["GET"],
}


def routes() -> Iterator[tuple[str, URLPattern]]:
    def walk(patterns: list[Any]) -> Iterator[URLPattern]:
        for entry in patterns:
            if isinstance(entry, URLResolver):
                yield from walk(entry.url_patterns)
            else:
                yield entry

    for pattern in walk(get_resolver().url_patterns):
        for method in methods(pattern):
            yield method, pattern


def methods(pattern: URLPattern) -> list[str]:
    view = pattern.callback
    if hasattr(view, "actions"):
        return [method.upper() for method in view.actions if method != "head"]
    if hasattr(view, "cls"):
        return [method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if hasattr(view.cls, method.lower())]
    if hasattr(view, "methods"):
        return list(view.methods)
    return UNGUARDED[str(pattern.name)]


def address(pattern: URLPattern, things: dict[str, Any]) -> str:
    name = str(pattern.name)
    values: dict[str, Any] = {}
    for key in pattern.pattern.converters:
        if key in ("pk", "id"):
            values[key] = (things.get(name) or things[name.split("-")[0]]).pk
        else:
            values[key] = {
                "secret": "unknown",
                "kind": "models",
                "queue": "cpu",
                "sha256": "0" * 64,
                "name": "c.safetensors",
                "page": "glossary",
            }[key]
    return reverse(name, kwargs=values)
