"""Probes of the database, the broker and the store of uploads, which may not answer. Each has a thread and a connection
of its own, so that neither a scrape nor a request waits long for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric

from webapp.metrics import lab
from webapp.uploads import store

logger = logging.getLogger("drafthouse.metrics")
FRESH = 5.0  # s
PATIENCE = 1.5  # s; an answer is due within two
T = TypeVar("T")


class CachedAnswer(Generic[T]):
    """Asks at most once in FRESH seconds and never twice at once."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._asked: Future[T] | None = None
        self._since = 0.0

    async def answer(self) -> T | None:
        """Return the answer; None after an error, or if none comes in time."""
        if self._asked is None or (self._asked.done() and monotonic() - self._since > FRESH):
            self._asked, self._since = self._thread.submit(self._ask), monotonic()
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._asked)), PATIENCE)
        except Exception as error:
            logger.warning("metrics: no answer to %s (%s)", self._ask.__name__, type(error).__name__)
            return None


def ask_database() -> list[Metric]:
    """Read the metrics over a connection outside of the pool, so that a used-up pool cannot hide itself."""
    if not isinstance(connection.settings_dict, _Own):
        usual = connections[DEFAULT_DB_ALIAS]
        connections[DEFAULT_DB_ALIAS] = type(usual)(_Own(_impatient(usual)), DEFAULT_DB_ALIAS)
    try:
        with transaction.atomic():
            return list(lab.families())
    except BaseException:
        connection.close()
        raise


class _Own(dict[str, Any]):
    """Settings that mark a connection as this thread's own."""


def _impatient(usual: BaseDatabaseWrapper) -> dict[str, Any]:
    options = {name: value for name, value in usual.settings_dict["OPTIONS"].items() if name != "pool"}
    if usual.vendor == "postgresql":
        options |= {"connect_timeout": 2, "tcp_user_timeout": 2000, "options": "-c statement_timeout=2000"}
    else:
        options |= {"timeout": 1, "transaction_mode": "DEFERRED"}
    return {**usual.settings_dict, "OPTIONS": options, "CONN_MAX_AGE": None}


def ask_store() -> bool:
    store.current().ask()
    return True
