"""Give every page its actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from webapp.accounts import actor as actors
from webapp.accounts.models import User


def actor(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        request.actor = SimpleLazyObject(lambda: actors.of_user(cast(User, request.user)))  # type: ignore[attr-defined]
        return get_response(request)

    return middleware
