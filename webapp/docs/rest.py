"""The page *REST* of the documentation: one line for each operation of the OpenAPI schema.

.venv/bin/python -m webapp.docs.rest > docs/rest.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "api" / "openapi.yaml"
ROOT = "/api/v1/"
FIRST = f"""# REST

This page is made from the [OpenAPI schema](api/openapi.yaml), which also holds bodies, queries and answers. All
addresses begin with `{ROOT}`. [Scripts and REST](scripts.md) shows how to get a token.

A right includes those before it: *none* (a token or a signed-in person), *read*, *submit*, *admin* (an owner of the
team). *operator* is who runs this installation.
"""
HEAD = "| request | what it does | right |\n|---|---|---|\n"


def written() -> str:
    schema = yaml.load(SCHEMA.read_text(), yaml.CSafeLoader)  # as safe as `safe_load`, ten times as fast
    things: dict[str, list[str]] = {}
    for thing, line in _lines(schema["paths"]):
        things.setdefault(thing, []).append(line)
    return FIRST + "".join(f"\n## {thing}\n\n{HEAD}{''.join(lines)}" for thing, lines in things.items())


def _lines(paths: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each operation's thing, such as `comparisons`, and its row."""
    for path, operations in paths.items():
        address = path.removeprefix(ROOT)
        for method, operation in operations.items():
            does = re.split(r"(?<=\.) ", " ".join(operation["description"].split()))[0].replace("|", "\\|")
            row = f"| `{method.upper()} {address}` | {does} | {operation['x-right']} |\n"
            yield re.split(r"[/.]", address)[0], row


if __name__ == "__main__":
    sys.stdout.write(written())
