"""Share a comparison by link, read-only, and revoke that."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison
from webapp.core import secrets
from webapp.core.conditions import Condition, Conditions, Keys
from webapp.core.problems import Conflict, Gone
from webapp.sharing.models import Share

MOST_OPEN = 100


@transaction.atomic
def share(*, comparison: Comparison, days: int | None, hides_texts: bool, by: Actor) -> tuple[Share, str]:
    """Return a share and the secret of its link, which is not stored."""
    by.require(Right.SUBMIT)
    if comparison.shares.open().count() >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} links to this comparison are open; revoke some first.")
    secret = secrets.fresh()
    made = Share.objects.create(
        team=by.home,
        comparison=comparison,
        created_by=by.user,
        digest=secrets.digest(secret),
        hides_texts=hides_texts,
        expires=timezone.now() + timedelta(days=days) if days else None,
    )
    audit.record(by, "shared", comparison, hides_texts=hides_texts)
    return made, secret


@transaction.atomic
def revoke(*, share: Share, by: Actor) -> None:
    by.require(Right.SUBMIT)
    if not Share.objects.filter(pk=share.pk, revoked_at=None).update(revoked_at=timezone.now()):
        raise Conflict("This link is revoked already.")
    audit.record(by, "revoked", share)


def find(secret: str) -> Share:
    """Return the open share behind a link. Unknown, revoked and expired look the same to a stranger."""
    found = _shown().filter(digest=secrets.digest(secret)).first()
    if found is None:
        raise _gone()
    return found


def conditions_of(share: Share) -> Conditions:
    """Return the conditions of a connection that this link opened."""
    return (Condition(_holding, share.pk, _gone()),)


def _holding(keys: Keys) -> set[Any]:
    return set(_shown().filter(pk__in=keys).values_list("pk", flat=True))


def _shown() -> QuerySet[Share]:
    return Share.objects.open().filter(comparison__binned=None)


def _gone() -> Gone:
    return Gone("This link shows nothing: it was revoked, or it has expired.", hint="Ask for a new one.")
