"""`/metrics`, and the count of open connections. It stands before everything else, so that it answers while all turns
are taken, while the database is away, and under any host name that Prometheus uses."""

from __future__ import annotations

import asyncio
import hmac
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from prometheus_client import Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from webapp.core import broker, edition
from webapp.core.version import version
from webapp.metrics import counting
from webapp.metrics.probes import CachedAnswer, ask_database, ask_store

PATH = "/metrics"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class MetricsDoor:
    def __init__(self, application: Application) -> None:
        self._application = application
        self._database = CachedAnswer(ask_database)
        self._broker = CachedAnswer(broker.answers)
        self._store = CachedAnswer(ask_store)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH and settings.METRICS_TOKEN:
            await self._answer(scope, send)
        else:
            await self._count(scope, receive, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        gauges = [counting.sockets if scope["type"] == "websocket" else counting.in_flight]
        if scope["type"] == "http" and b"wait" in parse_qs(scope["query_string"]):
            gauges.append(counting.long_polls)
        for gauge in gauges:
            gauge.inc()
        try:
            await self._application(scope, receive, send)
        finally:
            for gauge in gauges:
                gauge.dec()

    async def _answer(self, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            return await _send(send, 405, b"Metrics are read with GET.\n", (b"allow", b"GET, HEAD"))
        if not _knows_token(dict(scope["headers"]).get(b"authorization", b"")):
            told = b"Metrics need `Authorization: Bearer TOKEN`, with the token of DRAFTHOUSE_METRICS_TOKEN.\n"
            return await _send(send, 401, told, (b"www-authenticate", b"Bearer"))
        body = await self._told()
        await _send(send, 200, body if scope["method"] == "GET" else b"", kind=CONTENT_TYPE_PLAIN_0_0_4)

    async def _told(self) -> bytes:
        found, *others = await asyncio.gather(self._database.answer(), self._broker.answer(), self._store.answer())
        return generate_latest(_All([*_process(found is not None, *map(bool, others)), *(found or ())]))


class _All:
    """Collector for prometheus_client: what this process has counted, and what the probes found just now."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from counting.own.collect()
        yield from self._families


def _process(has_database: bool, has_broker: bool, has_store: bool) -> Iterator[Metric]:
    vendor = connections[DEFAULT_DB_ALIAS].vendor
    labels = ["version", "database", "schema"]
    about = GaugeMetricFamily("drafthouse_info", "Always 1; labels say what runs.", labels=labels)
    about.add_metric([version(), vendor, edition.schema()], 1)
    yield about
    yield GaugeMetricFamily("drafthouse_database_up", "1 if the database answers.", value=has_database)
    yield GaugeMetricFamily("drafthouse_broker_up", "1 if the broker answers.", value=has_broker)
    yield GaugeMetricFamily("drafthouse_store_up", "1 if the store of uploads answers.", value=has_store)
    disk = shutil.disk_usage(settings.DATA_DIR)
    yield GaugeMetricFamily("drafthouse_disk_free_bytes", "Free space where the data folder is.", value=disk.free)
    yield GaugeMetricFamily("drafthouse_disk_bytes", "All space where the data folder is.", value=disk.total)
    yield from _pool()


def _pool() -> Iterator[Metric]:
    """Yield the state of the connection pool to PostgreSQL that this process's requests share."""
    pool = getattr(connections[DEFAULT_DB_ALIAS], "pool", None)
    if pool is not None:
        stats = pool.get_stats()
        used = stats.get("pool_size", 0) - stats.get("pool_available", 0)
        yield GaugeMetricFamily("drafthouse_database_pool_used", "Connections in use.", value=used)
        yield GaugeMetricFamily("drafthouse_database_pool_most", "Most there may be.", value=stats.get("pool_max", 0))
        waiting = stats.get("requests_waiting", 0)
        yield GaugeMetricFamily("drafthouse_database_pool_waiting", "Requests that wait for one.", value=waiting)


def _knows_token(header: bytes) -> bool:
    kind, _, token = header.partition(b" ")
    return kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), settings.METRICS_TOKEN.encode())


async def _send(
    send: Send, status: int, body: bytes, *more: tuple[bytes, bytes], kind: str = "text/plain; charset=utf-8"
) -> None:
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
