"""Another connection in the place of the default one, for a while: to see a snapshot, or to fill another database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def instead(**changes: Any) -> Iterator[None]:
    """Like the default connection but for these settings, in this thread. It is the default one meanwhile, because
    migrations that change rows ask for no other."""
    usual = connections[DEFAULT_DB_ALIAS]
    other = type(usual)({**usual.settings_dict, **changes}, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = other
    try:
        yield
    finally:
        other.close()
        connections[DEFAULT_DB_ALIAS] = usual
