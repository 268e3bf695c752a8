"""Counters of this web process. Each process counts only its own requests, from its start on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.http import HttpRequest, HttpResponse
from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.registry import CollectorRegistry

from webapp.core import edition, tallies
from webapp.core.version import version

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

disable_created_metrics()  # they would double the lines, and the process metrics say when it began
own = CollectorRegistry(auto_describe=False)
for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
    own.register(collector)
requests = Counter("drafthouse_http_requests", "Requests answered.", ["route", "method", "status"], registry=own)
seconds = Histogram(
    "drafthouse_http_request_seconds",
    "Time until the answer began, without the wait for a turn.",
    ["route", "method"],
    buckets=SECONDS,
    registry=own,
)
in_flight = Gauge("drafthouse_http_requests_in_flight", "Requests that are waiting, worked on or sent.", registry=own)
long_polls = Gauge("drafthouse_long_polls", "Requests that wait for news.", registry=own)
sockets = Gauge("drafthouse_sockets", "Open sockets.", registry=own)
own.register(tallies.sign_ins_refused)


def count_requests(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that counts requests. It labels them by route, never by path: paths hold ids and secrets and have no
    end."""

    def middleware(request: HttpRequest) -> HttpResponse:
        start = perf_counter()
        response = get_response(request)
        route = f"/{request.resolver_match.route}" if request.resolver_match else "(none)"
        method = request.method if request.method in METHODS else "other"
        requests.labels(route, method, response.status_code).inc()
        seconds.labels(route, method).observe(perf_counter() - start)
        return response

    return middleware


def told(up: Mapping[str, bool], found: Iterable[Metric]) -> bytes:
    """Write what this process has counted, which parts answer, and what was found in the database just now."""
    return generate_latest(_All([*_process(up), *found]))


class _All:
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from own.collect()
        yield from self._families


def _process(up: Mapping[str, bool]) -> Iterator[Metric]:
    labels = ["version", "database", "schema"]
    about = GaugeMetricFamily("drafthouse_info", "Always 1; labels say what runs.", labels=labels)
    about.add_metric([version(), connection.vendor, edition.schema()], 1)
    yield about
    for part, is_up in up.items():
        yield GaugeMetricFamily(f"drafthouse_{part}_up", f"1 if the {part} answers.", value=is_up)
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
