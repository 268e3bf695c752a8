"""Shares of the turns (`core.waiting`): nobody takes all of them, long requests take few, and nobody all of these."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

LONG = 4  # long requests at work at the same time: the other turns are for short ones
LONG_EACH = 2  # of these with one token or session
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
    """Requests above a share wait in order. A share is one token's or session's; requests with neither share one of
    long requests, and have no other: little is done for them."""

    def __init__(self) -> None:
        self._long = asyncio.Semaphore(LONG)
        self._askers: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, request: HttpRequest) -> AsyncIterator[None]:
        asker = request.headers.get("Authorization") or request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        async with AsyncExitStack() as shares:
            if is_long(request):
                await shares.enter_async_context(self._share(f"long {asker}", LONG_EACH))
                await shares.enter_async_context(self._long)
            if asker:
                await shares.enter_async_context(self._share(asker, EACH))
            yield

    def _share(self, name: str, most: int) -> asyncio.Semaphore:
        return self._askers.setdefault(name, asyncio.Semaphore(most))
