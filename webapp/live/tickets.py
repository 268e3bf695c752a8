"""One-use tickets for scripts that open sockets. A token in an address ends up in logs; a used ticket is harmless."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.core.cache import cache

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.accounts.models import ApiToken, User
from webapp.accounts.standing import conditions_of
from webapp.core.conditions import Conditions
from webapp.core.problems import NotSignedIn

VALID_SECONDS = 30


def issue(actor: Actor, session: str) -> str:
    """Issue a ticket with the rights of the actor's token, or of the browser session with that key."""
    ticket = secrets.token_urlsafe(24)
    whose = {
        "user": str(actor.user.pk),
        "token": str(actor.token.pk) if actor.token else "",
        "session": session,
        "password": actor.user.get_session_auth_hash(),
    }
    cache.set(_key(ticket), whose, VALID_SECONDS)
    return ticket


def redeem(ticket: str) -> tuple[Actor, Conditions]:
    """Return the actor and the conditions behind a ticket. It works once, for 30 s."""
    key = _key(ticket[:64])
    whose = cache.get(key)
    actor = _actor(whose) if whose is not None and cache.delete(key) else None  # of two at once, one deletes it
    if actor is None:
        raise NotSignedIn("This ticket was used before or has expired.", hint="Get a new one for each socket.")
    return actor, conditions_of(actor, whose["session"], whose["password"])


def _actor(whose: dict[str, str]) -> Actor | None:
    if whose["token"]:
        token = ApiToken.objects.select_related("user", "team").filter(pk=UUID(whose["token"])).first()
        return actors.of_token(token) if token else None
    user = User.objects.filter(pk=UUID(whose["user"])).first()
    return actors.of_user(user) if user else None


def _key(ticket: str) -> str:
    return f"watch-ticket:{ticket}"
