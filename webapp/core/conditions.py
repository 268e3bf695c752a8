"""Conditions of an open connection: a session, a token, a membership, a share, the thing that is watched.

A socket, a long poll or a long download outlives the request that opened it, so its conditions are checked again and
again. One guard per process checks those of all connections together, with a query or two for each kind of condition,
however many connections there are.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError
from django.db.models import Model

from webapp.core.problems import Problem

logger = logging.getLogger("drafthouse.conditions")
CHECK_EVERY = 2.0  # s; a connection ends within this and one check

Keys = Collection[Any]
OnBroken = Callable[[Problem], None]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a connection. `holding(keys)` returns the keys for which it still holds; `refusal` says why it
    ended."""

    holding: Callable[[Keys], set[Any]]
    key: Hashable
    refusal: Problem


Conditions = tuple[Condition, ...]


@functools.cache
def still_exists(model: type[Model]) -> Callable[[Keys], set[Any]]:
    """Make the check that a row was not deleted."""

    def holding(keys: Keys) -> set[Any]:
        return set(model._default_manager.filter(pk__in=keys).values_list("pk", flat=True))

    return holding


def first_broken(conditions: Conditions) -> Problem | None:
    return broken([conditions]).get(conditions)


def broken(connections: Iterable[Conditions]) -> dict[Conditions, Problem]:
    """Return the connections that may not go on, each with the first reason."""
    connections = set(connections)
    keys: dict[Callable[[Keys], set[Any]], set[Any]] = {}
    for condition in (condition for conditions in connections for condition in conditions):
        keys.setdefault(condition.holding, set()).add(condition.key)
    holding = {check: check(wanted) for check, wanted in keys.items()}
    found = {}
    for conditions in connections:
        failed = (condition for condition in conditions if condition.key not in holding[condition.holding])
        if first := next(failed, None):
            found[conditions] = first.refusal
    return found


class Guard:
    """Checks the conditions of all open connections of this process while there are any."""

    def __init__(self) -> None:
        self.watched: dict[object, tuple[Conditions, OnBroken]] = {}
        self.task: asyncio.Task[None] | None = None

    def add(self, handle: object, conditions: Conditions, on_broken: OnBroken) -> None:
        self.watched[handle] = (conditions, on_broken)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self.watched:
            await asyncio.sleep(CHECK_EVERY)
            try:
                found = await database_sync_to_async(broken, thread_sensitive=False)(
                    [conditions for conditions, _ in self.watched.values()]
                )
            except DatabaseError as error:  # without a database nobody hears anything new either
                logger.warning("the database does not answer (%s); open connections are checked later", error)
                continue
            for conditions, on_broken in list(self.watched.values()):
                if problem := found.get(conditions):
                    on_broken(problem)


_guards: WeakKeyDictionary[asyncio.AbstractEventLoop, Guard] = WeakKeyDictionary()


@contextmanager
def guarded(conditions: Conditions, on_broken: OnBroken) -> Iterator[None]:
    """Call `on_broken` when a condition no longer holds, and again at each check, while the context is open."""
    if not conditions:
        yield
        return
    guard = _guards.setdefault(asyncio.get_running_loop(), Guard())
    handle = object()
    guard.add(handle, conditions, on_broken)
    try:
        yield
    finally:
        del guard.watched[handle]
