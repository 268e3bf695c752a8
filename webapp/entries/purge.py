"""Empty the bin: delete what has been in it for 30 days, unless something that stays points at it."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from webapp.accounts import audit
from webapp.entries.models import Entry, kinds

KEPT = timedelta(days=30)


def purge() -> int:
    """Delete what is due, and what only a deleted entry still held. Return how many are gone."""
    count, gone = 0, 1  # apps that depend on others come last, so in reverse one round is mostly enough
    while gone:
        gone = sum(_discard(entry) for kind in reversed(kinds()) for entry in _due(kind))
        count += gone
    return count


def _due(kind: type[Entry]) -> list[Entry]:
    return list(kind.objects.filter(binned__lt=timezone.now() - KEPT)[:1000])


def _discard(entry: Entry) -> bool:
    job = getattr(entry, "job", None)
    if job is not None and not job.is_final:
        return False
    try:
        with transaction.atomic():
            audit.noted(entry.team, "purged", entry)
            entry.discard()
            if job is not None:
                job.delete()
    except ProtectedError:
        return False
    return True
