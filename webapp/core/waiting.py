"""How requests wait: for their turn when many come at once, for news that is not there yet, for who reads slowly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

AT_WORK = 16  # requests that are answered at the same time; a few less than there are connections to PostgreSQL
PIECE = 64 * 1024  # of an answer that is made as it is sent


class InTurns(ASGIHandler):
    """Each request at work has a thread, and a connection to the database. Two hundred of them would only be in each
    other's way, so the rest waits here, in order and with neither. Who waits for news is asleep and does not count.

    No middleware, because Django makes one that could be either kind a synchronous one, beside others that are."""

    def __init__(self) -> None:
        super().__init__()
        self._places = asyncio.Semaphore(AT_WORK)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if "wait" in request.GET:
            return await self._answer(request)
        async with self._places:
            answer = await self._answer(request)
        if isinstance(answer, StreamingHttpResponse) and not answer.is_async:
            answer.streaming_content = _by_turns(iter(answer), self._places)
        return answer

    async def _answer(self, request: HttpRequest) -> Any:
        return await super().get_response_async(request)


async def _by_turns(parts: Iterator[bytes], places: asyncio.Semaphore) -> AsyncIterator[bytes]:
    """Each piece is made once the one before was taken, and in a turn of its own: a long answer is never held whole,
    and who reads it slowly keeps neither a turn nor a connection from others."""
    while True:
        async with places:
            piece = await sync_to_async(_piece)(parts)
        if not piece:
            return
        yield piece


def _piece(parts: Iterator[bytes]) -> bytes:
    found, size = [], 0
    while size < PIECE and (part := next(parts, None)) is not None:
        found.append(part)
        size += len(part)
    close_old_connections()
    return b"".join(found)


def rest(seconds: float) -> None:
    """Sleep, and let others have the connection to the database meanwhile."""
    close_old_connections()
    time.sleep(seconds)
