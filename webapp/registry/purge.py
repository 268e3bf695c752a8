"""The bin is emptied: what has lain in it for a month goes for good, unless something that stays points at it."""

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
    """How many things are gone. What was only held by a thing that went now goes in the same purge."""
    count, gone = 0, 1
    while gone:
        gone = sum(_discard(entry) for kind in _kinds() for entry in _due(kind))
        count += gone
    return count


def _kinds() -> list[type[Entry]]:
    """The apps of today and those to come; what depends on others first, so that one round is mostly enough."""
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
