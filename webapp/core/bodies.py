"""Refuse a body that is too long before anyone reads it.

Django's ASGI handler copies the whole body to a temporary file before a view or middleware runs, so a limit inside
Django comes after the disk is full.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class _TooLong(Exception):
    pass


class LimitBodies:
    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], *, longest: int) -> None:
        self.app = app
        self.longest = longest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self.longest:
            return await self._refuse(send)
        seen = 0

        async def counted() -> dict[str, Any]:  # a body may come in pieces and declare no length
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.longest:
                raise _TooLong
            return message

        try:
            await self.app(scope, counted, send)
        except _TooLong:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        problem = {
            "type": "about:blank",
            "title": "Content Too Large",
            "status": 413,
            "code": "too-large",
            "detail": f"A request may carry at most {self.longest} bytes.",
            "hint": "Send files through /api/v1/uploads/, in chunks.",
        }
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
