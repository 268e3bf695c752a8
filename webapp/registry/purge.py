"""Empty the bin: entries that were in it for a month are deleted, unless something that stays points at them."""

from __future__ import annotations

from datetime import timedelta

from django.apps import apps
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from webapp.accounts import audit
from webapp.registry.models import Entry

KEPT = timedelta(days=30)


def purge() -> int:
    """Delete due entries and return how many. Entries that only a deleted one held go in the same purge."""
    count, gone = 0, 1
    while gone:
        gone = sum(_discard(entry) for kind in _kinds() for entry in _due(kind))
        count += gone
    return count


def _kinds() -> list[type[Entry]]:
    """List the entries of all apps, dependent ones first, so that one round is mostly enough."""
    return [kind for kind in reversed(apps.get_models()) if issubclass(kind, Entry)]


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
