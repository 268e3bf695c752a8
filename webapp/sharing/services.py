"""Share a comparison by a link, and revoke the link."""

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
from webapp.core.limits import Limit
from webapp.core.problems import Conflict, Gone
from webapp.sharing.models import Share

MOST_OPEN = 100
# Links ask nobody to sign in, so requests count by the link and by the address that they come from.
BY_ADDRESS = Limit("link-address", count=1200, seconds=60)
COSTLY = Limit("link", count=600, seconds=60)  # pages, files and what-ifs
COSTLY_BY_ADDRESS = Limit("link-costly-address", count=120, seconds=60)


@transaction.atomic
def share(*, comparison: Comparison, days: int | None, hides_texts: bool, by: Actor) -> tuple[Share, str]:
    """Make a share; return it with the secret of its link, which is not kept."""
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


def opened(secret: str, address: str) -> Share:
    """Find the share that is asked for a page, a file or a what-if, which take time to make."""
    COSTLY_BY_ADDRESS.spend(address)
    share = find(secret, address)
    COSTLY.spend(str(share.pk))
    return share


def find(secret: str, address: str) -> Share:
    """Find the open share behind a link. Unknown, revoked and expired look the same to a stranger."""
    BY_ADDRESS.spend(address)
    found = _shown().filter(digest=secrets.digest(secret)).first()
    if found is None:
        raise _gone()
    return found


def conditions_of(share: Share) -> Conditions:
    """Conditions that keep a connection of this link open."""
    return (Condition(_holding, share.pk, _gone()),)


def _holding(keys: Keys) -> set[Any]:
    return set(_shown().filter(pk__in=keys).values_list("pk", flat=True))


def _shown() -> QuerySet[Share]:
    return Share.objects.open().select_related("comparison").filter(comparison__binned=None)


def _gone() -> Gone:
    return Gone("This link shows nothing: it was revoked, or it has expired.", hint="Ask for a new one.")
