"""Shares of the turns (`core.waiting`): nobody takes all of them, long requests take few, and no team all of these."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

LONG = 4  # long requests at work at the same time: the other turns are for short ones
LONG_EACH = 2  # of these for one team
EACH = 8  # for the requests with one token or session

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


class RequestShares:
    """Requests above a share wait in order."""

    def __init__(self) -> None:
        self._long = asyncio.Semaphore(LONG)
        self._teams: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._askers: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of_long(self, team: str) -> AsyncIterator[None]:
        """Share of a team's long requests."""
        async with self._teams.setdefault(team, asyncio.Semaphore(LONG_EACH)), self._long:
            yield

    @asynccontextmanager
    async def of_asker(self, request: HttpRequest) -> AsyncIterator[None]:
        """Share of a token or a session. Requests with neither have none: little is done for them."""
        asker = request.headers.get("Authorization") or request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        async with self._askers.setdefault(asker, asyncio.Semaphore(EACH)) if asker else nullcontext():
            yield
