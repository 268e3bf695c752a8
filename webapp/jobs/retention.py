"""Delete records that nobody needs any longer: expired sessions at once; after KEPT_DAYS histories and readings of
ended jobs, audit entries, and workers that are gone. Results stay: only people delete those."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models.functions import Now

from webapp.accounts.models import AuditEntry
from webapp.jobs.models import Job, JobEvent, Reading, Worker

AT_ONCE = 1000  # rows a statement: others write between two
MOST = 100_000  # rows of a kind in one sweep; the next one takes more


def sweep() -> int:
    """Delete what is due. Return how many rows are gone."""
    return sum(_delete(rows) for rows in _due())


def _due() -> list[Any]:
    expired = Session.objects.filter(expire_date__lt=Now())
    if not settings.KEPT_DAYS:
        return [expired]
    long_ago = Now() - timedelta(days=settings.KEPT_DAYS)
    ended = Job.objects.filter(finished__lt=long_ago)
    return [
        expired,
        JobEvent.objects.filter(job__in=ended),
        Reading.objects.filter(job__in=ended),
        AuditEntry.objects.filter(created__lt=long_ago),
        Worker.objects.filter(seen__lt=long_ago),
    ]


def _delete(rows: Any) -> int:
    count = 0
    while count < MOST and (some := list(rows.order_by().values_list("pk", flat=True)[:AT_ONCE])):
        count += rows.model._base_manager.filter(pk__in=some).delete()[0]
    return count
