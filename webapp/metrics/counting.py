"""Counters of this web process. Each process counts only its own requests, from its start on."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, Counter, Gauge, Histogram
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.registry import CollectorRegistry

from webapp.core import counters

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
own.register(counters.sign_ins_refused)
own.register(counters.upload_requests_refused)
database_errors = Counter("drafthouse_database_errors", "Queries of requests that failed.", ["kind"], registry=own)


def count_requests(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that counts requests. It labels them by route, never by path: paths hold ids and secrets and have no
    end."""

    def middleware(request: HttpRequest) -> HttpResponse:
        start = perf_counter()
        with connection.execute_wrapper(_count_errors):
            response = get_response(request)
        route = f"/{request.resolver_match.route}" if request.resolver_match else "(none)"
        method = request.method if request.method in METHODS else "other"
        requests.labels(route, method, response.status_code).inc()
        seconds.labels(route, method).observe(perf_counter() - start)
        return response

    return middleware


def _count_errors(execute: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return execute(*arguments)
    except Error as error:
        database_errors.labels(type(error).__name__).inc()
        raise
