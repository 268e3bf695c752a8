"""Keep pages and answers out of every cache, the browser's and those on the way."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def keep_private(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Static files never come by here, and everything else is somebody's: shared pages are whoever's has the link."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Cache-Control"] = "private, no-store"
        return response

    return middleware
