"""How requests wait: for their turn when many come at once, and for news that is not there yet."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

AT_WORK = 16  # requests that are answered at the same time; a few less than there are connections to PostgreSQL


@sync_and_async_middleware
def turns(get_response: Callable[[HttpRequest], Awaitable[HttpResponse]]) -> Callable[[HttpRequest], object]:
    """Each request at work has a thread, and a connection to the database. Two hundred of them would only be in each
    other's way, so the rest waits here, in order and with neither. Who waits for news is asleep and does not count."""
    if not inspect.iscoroutinefunction(get_response):
        return get_response  # not in a web server
    places = asyncio.Semaphore(AT_WORK)

    async def middleware(request: HttpRequest) -> HttpResponse:
        if "wait" in request.GET:
            return await get_response(request)
        async with places:
            return await get_response(request)

    return middleware


def rest(seconds: float) -> None:
    """Sleep, and let others have the connection to the database meanwhile."""
    close_old_connections()
    time.sleep(seconds)
