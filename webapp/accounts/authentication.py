"""Authenticate API requests by a bearer token or the browser's session. `request.auth` is the Actor."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from webapp.accounts import actor as actors
from webapp.accounts import services
from webapp.accounts.actor import Actor
from webapp.accounts.models import User
from webapp.core import logs
from webapp.core.limits import Limit
from webapp.core.problems import Forbidden, NotSignedIn
from webapp.core.proxies import address_of
from webapp.core.tallies import sign_ins_refused

WRONG_TOKENS = Limit("wrong-token", count=30, seconds=60)
REQUESTS = Limit("token", count=1200, seconds=60)
REQUESTS_BY_SESSION = Limit("session", count=3000, seconds=60)  # per person; open pages ask often


class TokenAuthentication(authentication.BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        token = services.find_token(text) if scheme.lower() == "bearer" and text.startswith("dh_") else None
        if token is None:
            sign_ins_refused.labels("token").inc()
            WRONG_TOKENS.spend(address_of(request))
            raise NotSignedIn(
                "This token is unknown, revoked or expired.",
                hint="Send `Authorization: Bearer dh_<key>.<secret>`; make one under Account, API tokens.",
                code="bad-token",
            )
        logs.note(user=token.user_id, team=token.team_id, token=token.key)
        REQUESTS.spend(token.key)
        return token.user, actors.of_token(token)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """The browser's session, with CSRF protection on every change."""

    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        found = super().authenticate(request)
        if found is None:
            return None
        logs.note(user=found[0].pk, team=found[0].current_team_id)
        REQUESTS_BY_SESSION.spend(str(found[0].pk))
        return found[0], actors.of_user(found[0])

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            raise Forbidden(
                "The request did not come from a Drafthouse page.",
                hint="A page sends its X-CSRFToken along; a program sends a token, and no cookie.",
                code="csrf",
            ) from None


def team_of(request: HttpRequest) -> str:
    """Name the team that a request is for, before the request is let in: long requests of a team share its turns.
    Requests of nobody share those of their address."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme:
        token = services.find_token(text)
        return str(token.team_id) if token else address_of(request)
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(
        request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    )
    user = get_user(request)
    return str(actors.of_user(user).team_id) if isinstance(user, User) else address_of(request)


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "dh_<key>.<secret>"}


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "dh_session"}
