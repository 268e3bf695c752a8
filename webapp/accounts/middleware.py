"""Give every page request its actor. The first use of the actor counts against the person's request limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.accounts.authentication import REQUESTS_BY_SESSION
from webapp.accounts.models import User
from webapp.core import logs


def actor(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        def acting() -> Actor:
            found = actors.of_user(cast(User, request.user))
            logs.note(user=found.user.pk, team=found.team and found.team.pk)
            request.actor = found  # type: ignore[attr-defined]  # also for the page that says "too many requests"
            REQUESTS_BY_SESSION.spend(str(found.user.pk))
            return found

        request.actor = SimpleLazyObject(acting)  # type: ignore[attr-defined]
        return get_response(request)

    return middleware
