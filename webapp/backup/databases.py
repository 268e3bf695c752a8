"""Replace the default database connection for a while, to read a snapshot or to fill another database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def instead(**changes: Any) -> Iterator[None]:
    """Make a copy of the default connection, with these settings, this thread's default: migrations that change rows
    use no other."""
    usual = connections[DEFAULT_DB_ALIAS]
    other = type(usual)({**usual.settings_dict, **changes}, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = other
    try:
        yield
    finally:
        other.close()
        connections[DEFAULT_DB_ALIAS] = usual
