"""Replace the default database connection for a while: to read a snapshot, to fill another database, or to ask apart
from everybody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

BRIEFLY = {  # how a connection to PostgreSQL gives up by itself; 2 s is the shortest that libpq takes
    "connect_timeout": 2,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 2000,
}


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


@contextmanager
def apart() -> Iterator[None]:
    """Connect outside of the pool, whose use may be what is asked about, and soon give up."""
    usual = connections[DEFAULT_DB_ALIAS]
    options = {name: value for name, value in usual.settings_dict["OPTIONS"].items() if name != "pool"}
    if usual.vendor == "sqlite":
        options |= {"timeout": 1, "transaction_mode": "DEFERRED"}
    else:
        options |= BRIEFLY | {"options": f"{options.get('options', '')} -c statement_timeout=2000"}
    with instead(OPTIONS=options):
        yield
