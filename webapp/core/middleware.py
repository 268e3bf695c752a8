"""Every answer carries the id of its request and the versions, no cache may keep it, and every request but those for
scripts, styles and pictures leaves one line in the log."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

from webapp.core import logs
from webapp.core.version import version

logger = logging.getLogger("drafthouse.request")
current_request_id: ContextVar[str] = ContextVar("request_id", default="")
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")
API_VERSION = "1"


class _Permanently(HttpResponsePermanentRedirect):
    """A permanent redirect that keeps method and body: after a 301, clients ask with GET instead."""

    status_code = 308


class Slashes(CommonMiddleware):
    """Redirects addresses without a final slash to those with one."""

    response_redirect_class = _Permanently


def keep_private(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Forbid caches to store answers. Static files do not pass here, and everything else belongs to somebody."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Cache-Control"] = "private, no-store"
        return response

    return middleware


def name_of(header: str) -> str:
    """Return the request's id: the client's own if it sent one."""
    return header if _ACCEPTABLE.fullmatch(header) else uuid.uuid4().hex


def request_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        name = name_of(request.headers.get("X-Request-ID", ""))
        token = current_request_id.set(name)
        start = perf_counter_ns()
        try:
            with logs.fields(request_id=name) as known:
                response = get_response(request)
        finally:
            current_request_id.reset(token)
        response["X-Request-ID"] = name
        response["X-Api-Version"] = API_VERSION
        response["X-Version"] = version()
        # Log the route, never the path: paths of one-time links hold secrets.
        route = request.resolver_match.route if request.resolver_match else "(no route)"

        def note(status: int) -> None:
            took_ms = (perf_counter_ns() - start) / 1e6
            level = logging.DEBUG if request.path.startswith(settings.STATIC_URL) else logging.INFO
            told = {**known, "method": request.method, "route": f"/{route}", "status": status, "ms": round(took_ms, 1)}
            logger.log(level, "%s /%s %s %.0fms %s", request.method, route, status, took_ms, name, extra=told)

        if hasattr(response, "when_answered"):  # held back until there is news
            response.when_answered = note
        else:
            note(response.status_code)
        return response

    return middleware
