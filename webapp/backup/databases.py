"""Another connection in the place of the default one, for a while: to see a snapshot, or to fill another database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def instead(**changes: Any) -> Iterator[None]:
    """Like the default connection but for these settings. It is the default one meanwhile, because migrations that
    change rows ask for no other."""
    usual, settings = connections[DEFAULT_DB_ALIAS], connections.settings[DEFAULT_DB_ALIAS]
    connections.settings[DEFAULT_DB_ALIAS] = {**usual.settings_dict, **changes}
    del connections[DEFAULT_DB_ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS].close()
        connections.settings[DEFAULT_DB_ALIAS] = settings
        connections[DEFAULT_DB_ALIAS] = usual
