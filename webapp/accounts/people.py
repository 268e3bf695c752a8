"""Rename, deactivate and reactivate users. Nobody is deleted, because what they made names them."""

from __future__ import annotations

from django.db import transaction

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.models import User
from webapp.core.problems import Conflict


@transaction.atomic
def call(*, user: User, name: str, by: Actor) -> None:
    """Set the display name; the user still signs in with the username."""
    user.name = name
    user.save(update_fields=["name"])
    audit.record(by, "renamed", user, to=name)


@transaction.atomic
def deactivate(*, user: User, by: Actor) -> None:
    """Deactivate a user. Their password, links, sessions and tokens stop working at once; what they made stays."""
    by.require_operator()
    if user.pk == by.user.pk:
        raise Conflict("You cannot deactivate yourself.", hint="Ask another operator.", code="not-yourself")
    if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
        raise Conflict(f"{user} is deactivated already.")
    audit.record(by, "deactivated", user)


@transaction.atomic
def reactivate(*, user: User, by: Actor) -> None:
    by.require_operator()
    if not User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        raise Conflict(f"{user} is active.")
    audit.record(by, "reactivated", user)
