"""One-use tickets for scripts that watch: a token in an address would end up in logs, a spent ticket does no harm."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.core.cache import cache

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.accounts.models import ApiToken, User

VALID_SECONDS = 30


def issue(actor: Actor) -> str:
    ticket = secrets.token_urlsafe(24)
    whose = {"user": str(actor.user.pk), "token": str(actor.token.pk) if actor.token else ""}
    cache.set(_key(ticket), whose, VALID_SECONDS)
    return ticket


def redeem(ticket: str) -> Actor | None:
    """Who may come in with it. The second time, and after half a minute: nobody."""
    key = _key(ticket[:64])
    whose = cache.get(key)
    if whose is None or not cache.delete(key):  # of two who come at once, one deletes it
        return None
    if whose["token"]:
        token = ApiToken.objects.filter(pk=UUID(whose["token"])).first()
        return actors.of_token(token) if token and token.is_valid else None
    user = User.objects.filter(pk=UUID(whose["user"]), is_active=True).first()
    return actors.of_user(user) if user else None


def _key(ticket: str) -> str:
    return f"watch-ticket:{ticket}"
