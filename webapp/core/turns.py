"""Shares of the turns (`core.waiting`): long requests take few of them, and no team takes all of these."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from django.http import HttpRequest
from django.urls import Resolver404, resolve

LONG = 4  # long requests at work at the same time: the other turns are for short ones
LONG_EACH = 2  # of these for one team

View = TypeVar("View", bound=Callable[..., Any])


def takes_long(method: str) -> Callable[[View], View]:
    """Mark a view, a class of views or an action that may compute for seconds when it is asked with this method."""

    def mark(view: View) -> View:
        view.long_method = method  # type: ignore[attr-defined]
        return view

    return mark


def is_long(request: HttpRequest) -> bool:
    try:
        view: Any = resolve(request.path_info).func
    except Resolver404:
        return False
    action = getattr(view, "actions", {}).get((request.method or "").lower())
    marked = getattr(view.cls, action) if action else getattr(view, "cls", view)
    return getattr(marked, "long_method", "") == request.method


class LongTurns:
    """Turns of long requests. Those that have none wait in order, first among their team's."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(LONG)
        self._each: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, team: str) -> AsyncIterator[None]:
        async with self._each.setdefault(team, asyncio.Semaphore(LONG_EACH)), self._all:
            yield
