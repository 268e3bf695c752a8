"""Every answer carries the id of its request, and every request leaves one line in the log."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns

from django.http import HttpRequest, HttpResponse

logger = logging.getLogger("drafthouse.request")
current_request_id: ContextVar[str] = ContextVar("request_id", default="")
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")
API_VERSION = "1"


def request_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        token = current_request_id.set(name)
        start = perf_counter_ns()
        try:
            response = get_response(request)
        finally:
            current_request_id.reset(token)
        response["X-Request-ID"] = name
        response["X-Api-Version"] = API_VERSION
        # The route, never the path: paths of one-time links hold secrets.
        route = request.resolver_match.route if request.resolver_match else "(no route)"
        took_ms = (perf_counter_ns() - start) / 1e6
        logger.info("%s /%s %s %.0fms %s", request.method, route, response.status_code, took_ms, name)
        return response

    return middleware
