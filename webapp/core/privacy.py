"""Keep pages and answers out of every cache, the browser's and those on the way."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def keep_private(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Forbid caches to store answers. Static files do not pass here, and everything else belongs to somebody."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Cache-Control"] = "private, no-store"
        return response

    return middleware
