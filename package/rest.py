"""The page *REST* of the documentation: one line for each operation of the OpenAPI schema.

.venv/bin/python -m package.rest > docs/rest.md
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SCHEMA = Path(__file__).resolve().parents[1] / "docs" / "api" / "openapi.yaml"
ROOT = "/api/v1/"
FIRST = f"""# REST

This page is made from the [OpenAPI schema](api/openapi.yaml), which also holds queries, kinds of values and answers.
All addresses begin with `{ROOT}`. [Scripts and REST](scripts.md) shows how to get a token.

A right includes those before it: *none* (a token or a signed-in person), *read*, *submit*, *admin* (an owner of the
team). *operator* is who runs this installation. Below each table stand the names that bodies take, needed ones in bold.
"""
WIDTH = 118
HEAD = "| request | what it does | right |\n|---|---|---|\n"


def written() -> str:
    schema = yaml.load(SCHEMA.read_text(), yaml.CSafeLoader)  # as safe as `safe_load`, ten times as fast
    things: dict[str, tuple[list[str], list[str]]] = {}
    for thing, row, body in _operations(schema):
        rows, bodies = things.setdefault(thing, ([], []))
        rows.append(row)
        bodies += [body] if body else []
    return FIRST + "".join(
        f"\n## {thing}\n\n{HEAD}{''.join(rows)}" + ("\n" + "".join(bodies) if bodies else "")
        for thing, (rows, bodies) in things.items()
    )


def _operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each operation's thing, such as `comparisons`, its row, and the line about its body."""
    for path, operations in schema["paths"].items():
        address = path.removeprefix(ROOT)
        for method, operation in operations.items():
            request = f"`{method.upper()} {address}`"
            does = re.split(r"(?<=\.) ", " ".join(operation["description"].split()))[0].replace("|", "\\|")
            row = f"| {request} | {does} | {operation['x-right']} |\n"
            names = ", ".join(_names(schema, operation))
            body = f"- {request} takes {names}\n" if names else ""
            yield re.split(r"[/.]", address)[0], row, textwrap.fill(body, WIDTH, subsequent_indent="  ") + body[-1:]


def _names(schema: dict[str, Any], operation: dict[str, Any]) -> Iterator[str]:
    """Yield the names that an operation's body may hold, those that it must hold in bold."""
    asked = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    body = schema["components"]["schemas"].get(asked.get("$ref", "").rpartition("/")[2], {})
    for name in body.get("properties", ()):
        yield f"**`{name}`**" if name in body.get("required", ()) else f"`{name}`"


if __name__ == "__main__":
    sys.stdout.write(written())
