"""Waiting of requests: for their turn when many come at once, for news, and for clients that read slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections, connections
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from webapp.core.conditions import Conditions, guarded
from webapp.core.holding import Held, hold
from webapp.core.problems import Problem
from webapp.core.proxies import address_of
from webapp.core.turns import RequestShares, is_long

AT_WORK = 16  # requests answered at the same time; a few less than there are connections to PostgreSQL
PIECE = 64 * 1024  # bytes of a streamed answer made at a time


class Revoked(ConnectionAbortedError):
    """The right to an answer ended while it was sent. Cut the connection, so that nobody takes the answer for whole."""


class InTurns(ASGIHandler):
    """Handler that answers 16 requests at a time. Each has a thread and a database connection; 200 would only be
    in each other's way. The others wait here in order with neither, and so do requests that wait for news.

    Nobody takes all turns. Long requests take few, by `team_of`, which names the team that a request is for.

    It is no middleware: Django makes a middleware of either kind synchronous if its neighbours are."""

    def __init__(self, team_of: Callable[[HttpRequest], str] = address_of) -> None:
        super().__init__()
        self._team_of = team_of
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[asyncio.Semaphore, RequestShares]] = (
            WeakKeyDictionary()
        )

    @property
    def _slots(self) -> asyncio.Semaphore:
        return self._here[0]

    @property
    def _here(self) -> tuple[asyncio.Semaphore, RequestShares]:
        return self._turns.setdefault(asyncio.get_running_loop(), (asyncio.Semaphore(AT_WORK), RequestShares()))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with ThreadSensitiveContext() as context:
            SyncToAsync.context_to_thread_executor[context] = _doorman
            await super().__call__(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if not is_long(request):
            return await self._answered(request)
        team = await self._in_turn(partial(self._team_of, request))
        async with self._here[1].of_long(team):
            return await self._answered(request)

    async def _answered(self, request: HttpRequest) -> HttpResponseBase:
        async with self._here[1].of_asker(request), self._slots:
            _take_thread()
            answer = await self._made(request)
            if isinstance(answer, Held):
                await sync_to_async(connections.close_all)()
        if isinstance(answer, Held):
            _leave_thread()
            return await hold(request, answer, self._in_turn)
        if isinstance(answer, StreamingHttpResponse) and not answer.is_async:
            conditions: Conditions = getattr(answer, "conditions", ())
            answer.streaming_content = _by_turns(iter(answer), self._slots, conditions)
        return answer

    async def _made(self, request: HttpRequest) -> HttpResponseBase:
        """Let the thread finish even if the client goes away: it cannot be stopped. Then close what nobody takes, such
        as a file, or the connections of a request whose error page failed; Django would drop them open."""
        making = asyncio.ensure_future(super().get_response_async(request))
        try:
            return await asyncio.shield(making)
        except BaseException:
            await asyncio.wait({making})
            await sync_to_async(connections.close_all if making.exception() else making.result().close)()
            raise

    async def _in_turn(self, work: Callable[[], Any]) -> Any:
        async with self._slots:
            return await database_sync_to_async(work, thread_sensitive=False)()


class _Doorman(ThreadPoolExecutor):
    """One thread for all requests that have no turn: Django needs one shortly before and after an answer. asgiref would
    give each request a thread of its own until it is answered."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: requests come and go, this thread stays."""


_doorman = _Doorman(1, "doorman")


def _take_thread() -> None:
    """Give this request a thread of its own, made when it is needed."""
    if context := SyncToAsync.thread_sensitive_context.get(None):
        SyncToAsync.context_to_thread_executor.pop(context, None)


def _leave_thread() -> None:
    if context := SyncToAsync.thread_sensitive_context.get(None):
        SyncToAsync.context_to_thread_executor[context].shutdown(wait=False)
        SyncToAsync.context_to_thread_executor[context] = _doorman


async def _by_turns(parts: Iterator[bytes], slots: asyncio.Semaphore, conditions: Conditions) -> AsyncIterator[bytes]:
    """Make each piece in a turn of its own, once the client took the one before. So no long answer is held whole, and a
    slow reader keeps neither a turn nor a connection from others."""
    problems: list[Problem] = []
    with guarded(conditions, problems.append):
        while True:
            async with slots:
                piece = await sync_to_async(_piece)(parts)
            if problems:
                raise Revoked(problems[0].detail)
            if not piece:
                return
            yield piece


def _piece(parts: Iterator[bytes]) -> bytes:
    found, size = [], 0
    try:
        while size < PIECE and (part := next(parts, None)) is not None:
            found.append(part)
            size += len(part)
    finally:
        close_old_connections()
    return b"".join(found)
