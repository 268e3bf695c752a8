"""Write the audit log. Services call this inside the transaction of the change."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from webapp.accounts.actor import Actor
from webapp.accounts.models import AuditEntry, Team
from webapp.core.middleware import current_request_id


def noted(team: Team, verb: str, subject: Model) -> None:
    """Record a change that nobody asked for: it was due."""
    AuditEntry.objects.create(team=team, verb=verb, **_named(subject))


def record(by: Actor, verb: str, subject: Model, *, team: Team | None = None, **detail: Any) -> None:
    AuditEntry.objects.create(
        team=team or by.team,
        user=by.user,
        token=by.token,
        verb=verb,
        detail=detail,
        request_id=current_request_id.get(),
        **_named(subject),
    )


def _named(subject: Model) -> dict[str, str]:
    return {
        "subject": str(subject._meta.verbose_name),
        "subject_id": str(subject.pk),
        "subject_name": str(getattr(subject, "name", "") or getattr(subject, "username", ""))[:200],
    }
