"""Dialects of servers, one module each. Adding a dialect is adding a file: `base` says what it defines."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import PurePath

from decoding.backends.contestants.servers.dialects.base import Dialect
from decoding.errors import BadServer, meant
from decoding.scan import modules_in

PARTS = {"DIALECT": "the Dialect that it defines"}


@cache
def dialects() -> dict[str, Dialect]:
    """All dialects by name."""
    found = [module.DIALECT for module in modules_in(sys.modules[__name__], PARTS)]
    return {dialect.name: dialect for dialect in found}


def dialect_called(name: str) -> Dialect:
    found = dialects().get(name)
    if found is None:
        raise BadServer(f"There is no dialect {name!r}; there are {', '.join(dialects())}.{meant(name, dialects())}")
    return found


def dialect_of(program: str) -> str:
    """Return the dialect that a program speaks, from its name; empty if none is known for it."""
    named = PurePath(program).name
    return next((dialect.name for dialect in dialects().values() if named in dialect.programs), "")
