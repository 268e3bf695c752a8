"""Conditions that keep an actor's connection open: the session or token that opened it, and the membership."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Model, Q
from django.utils import timezone

from webapp.accounts.actor import Actor
from webapp.accounts.models import ApiToken, Membership, User
from webapp.core.conditions import Condition, Conditions, Keys, still_exists
from webapp.core.problems import Forbidden, NotFound, NotSignedIn

SIGNED_OUT = NotSignedIn("This session has ended: you signed out, or somebody changed the password or the account.")
TOKEN_ENDED = NotSignedIn("This token was revoked or has expired.", code="bad-token")
LEFT = Forbidden("You are no longer in this team.", code="role-too-low")


def conditions_of(actor: Actor, session: str, password: str = "") -> Conditions:
    """Return the conditions of an actor's connection. Without a token, `session` is the key of the browser's session.
    Give `password`, the user's session hash from an earlier moment, if the password may have changed since."""
    member = Condition(members, (actor.user.pk, actor.team_id), LEFT)
    if actor.token is not None:
        return Condition(valid_tokens, actor.token.pk, TOKEN_ENDED), member
    password = password or actor.user.get_session_auth_hash()
    return Condition(live_sessions, (session, actor.user.pk, password), SIGNED_OUT), member


def reading(request: Any, *rows: Model) -> Conditions:
    """Return the conditions for sending an API answer: the asker still may, and the rows that it reads still exist."""
    gone = NotFound("It was deleted meanwhile.")
    actor: Actor = request.auth
    return (
        *conditions_of(actor, request.session.session_key or ""),
        *(Condition(still_exists(type(row)), row.pk, gone) for row in rows),
    )


def who(request: Any) -> str:
    """Name whom limits count an API request for: the token, or the person."""
    actor: Actor = request.auth
    return f"token {actor.token.pk}" if actor.token else f"user {actor.user.pk}"


def live_sessions(keys: Keys) -> set[Any]:
    alive = Session.objects.filter(session_key__in={key for key, _, _ in keys}, expire_date__gt=timezone.now())
    known = set(alive.values_list("session_key", flat=True))
    active = User.objects.filter(pk__in={user for _, user, _ in keys}, is_active=True).only("password")
    passwords = {user.pk: user.get_session_auth_hash() for user in active}
    return {(key, user, password) for key, user, password in keys if key in known and passwords.get(user) == password}


def valid_tokens(keys: Keys) -> set[Any]:
    unexpired = Q(expires=None) | Q(expires__gt=timezone.now())
    valid = ApiToken.objects.filter(unexpired, pk__in=keys, revoked_at=None, user__is_active=True)
    return set(valid.values_list("pk", flat=True))


def members(keys: Keys) -> set[Any]:
    users, teams = {user for user, _ in keys}, {team for _, team in keys}
    return set(Membership.objects.filter(user__in=users, team__in=teams).values_list("user_id", "team_id"))
