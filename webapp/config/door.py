"""`/healthz`, `/readyz` and `/metrics`, and the count of open connections. They stand before everything else, so that
they answer while all turns are taken, while the database is away, and under any host name that a probe uses."""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.db import transaction
from prometheus_client import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from webapp.config import readiness
from webapp.core import databases
from webapp.metrics import counting, lab

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

logger = logging.getLogger("drafthouse.metrics")
PATIENCE = 1.5  # s; a scrape is answered within two


def _families() -> list[Metric]:
    with databases.apart(), transaction.atomic():
        return list(lab.families())


class Door:
    def __init__(self, application: Application) -> None:
        self._application = application
        self._lab = readiness.Inquiry(_families)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        match scope["path"] if is_read else "":
            case "/healthz":
                await _send(send, 200, b"ok\n")
            case "/readyz":
                await readiness.answered((asked := readiness.ask()).values())
                told = readiness.told(asked)
                await _send(send, 200 if told["ready"] else 503, json.dumps(told).encode(), kind="application/json")
            case "/metrics" if settings.METRICS_TOKEN:
                await self._metrics(scope, send)
            case _:
                await self._count(scope, receive, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        gauges = [counting.sockets if scope["type"] == "websocket" else counting.in_flight]
        if scope["type"] == "http" and "wait" in parse_qs(scope["query_string"].decode("latin-1")):
            gauges.append(counting.long_polls)
        for gauge in gauges:
            gauge.inc()
        try:
            await self._application(scope, receive, send)
        finally:
            for gauge in gauges:
                gauge.dec()

    async def _metrics(self, scope: Scope, send: Send) -> None:
        if not _knows_token(dict(scope["headers"]).get(b"authorization", b"")):
            told = b"Metrics need `Authorization: Bearer TOKEN`, with the token of DRAFTHOUSE_METRICS_TOKEN.\n"
            return await _send(send, 401, told, (b"www-authenticate", b"Bearer"))
        parts = {part.name: part.ask() for part in readiness.PARTS if part.name in ("broker", "store")}
        asked = self._lab.ask()
        await readiness.answered([asked, *parts.values()], within=PATIENCE)
        found = asked.result() if asked.done() and not asked.exception() else None
        if found is None:
            logger.warning(
                "metrics: the database does not answer (%s)", asked.exception() if asked.done() else "in time"
            )
        up = {name: answer.done() and not answer.exception() and not answer.result() for name, answer in parts.items()}
        await _send(send, 200, counting.told({"database": found is not None, **up}, found or ()),
                    kind=CONTENT_TYPE_PLAIN_0_0_4)  # fmt: skip


def _knows_token(header: bytes) -> bool:
    kind, _, token = header.partition(b" ")
    return kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), settings.METRICS_TOKEN.encode())


async def _send(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes], kind: str = "text/plain") -> None:
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"private, no-store"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
