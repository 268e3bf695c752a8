"""Refuse a body or a query that is too long before anyone reads it.

Django's ASGI handler copies the whole body to a temporary file before a view or middleware runs, so a limit inside
Django comes after the disk is full.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from webapp.core.middleware import name_of
from webapp.core.refusals import problem_json

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

PATIENCE = 4  # times the longest body
LONGEST_QUERY = 32 * 1024  # bytes; a client that follows 500 samples at once sends 24 kB
MOST_IN_QUERY = 500  # names
TOO_LONG_QUERY = (
    414,
    "too-large",
    f"The part of this address after the question mark has more than {LONGEST_QUERY} bytes or {MOST_IN_QUERY} names.",
    "Ask for less at once.",
)
TWO_LENGTHS = (
    400,
    "bad-request",
    "This request has both a Content-Length and a Transfer-Encoding, which proxies and servers read differently.",
    "Send one of them.",
)


class _TooLong(Exception):
    pass


class _Body:
    """The body received so far, and whether more will come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.seen = 0
        self.is_more = True

    async def receive(self) -> dict[str, Any]:
        message = await self._receive()
        self.seen += len(message.get("body", b""))
        self.is_more = bool(message.get("more_body", False))
        return message


class LimitBodies:
    def __init__(self, app: Callable[..., Awaitable[None]], *, longest: int) -> None:
        self.app = app
        self.longest = longest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body = _Body(receive)
        headers = dict(scope["headers"])
        name = name_of(headers.get(b"x-request-id", b"").decode("latin-1"))
        query = scope.get("query_string", b"")
        if len(query) > LONGEST_QUERY or query.count(b"&") >= MOST_IN_QUERY:
            return await self._refuse(body, send, name, *TOO_LONG_QUERY)
        if b"content-length" in headers and b"transfer-encoding" in headers:
            return await self._refuse(body, send, name, *TWO_LENGTHS)
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > self.longest:
            return await self._refuse(body, send, name, *self._too_long)

        async def counted() -> dict[str, Any]:  # a body may come in pieces and declare no length
            message = await body.receive()
            if body.seen > self.longest:
                raise _TooLong
            return message

        try:
            await self.app(scope, counted, send)
        except _TooLong:
            await self._refuse(body, send, name, *self._too_long)

    @property
    def _too_long(self) -> tuple[int, str, str, str]:
        detail = f"A request may carry at most {self.longest} bytes."
        return 413, "too-large", detail, "Send files through /api/v1/uploads/, in chunks."

    async def _refuse(self, body: _Body, send: Send, name: str, status: int, code: str, detail: str, hint: str) -> None:
        """Refuse a body. Most clients read no answer before they have sent everything, so a little more is read and
        thrown away."""
        while body.is_more and body.seen <= PATIENCE * self.longest:
            await body.receive()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"connection", b"close"),
            (b"x-request-id", name.encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": problem_json(status, code, detail, hint, name).content})
