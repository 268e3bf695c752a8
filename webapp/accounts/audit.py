"""Write down who did what. Called by services, inside the transaction of the deed."""

from __future__ import annotations

from typing import Any

from webapp.accounts.actor import Actor
from webapp.accounts.models import AuditEntry, Team
from webapp.core.middleware import current_request_id
from webapp.core.models import Noun


def noted(team: Team, verb: str, subject: Noun) -> None:
    """What nobody did: it was due."""
    AuditEntry.objects.create(team=team, verb=verb, **_named(subject))


def record(by: Actor, verb: str, subject: Noun, *, team: Team | None = None, **detail: Any) -> None:
    AuditEntry.objects.create(
        team=team or by.team,
        user=by.user,
        token=by.token,
        verb=verb,
        detail=detail,
        request_id=current_request_id.get(),
        **_named(subject),
    )


def _named(subject: Noun) -> dict[str, str]:
    return {
        "subject": str(subject._meta.verbose_name),
        "subject_id": str(subject.pk),
        "subject_name": str(getattr(subject, "name", "") or getattr(subject, "username", ""))[:200],
    }
