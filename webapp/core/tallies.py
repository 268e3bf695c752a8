"""Counts that lower apps keep for webapp/metrics: in this process, and as running totals in the database. Totals
outlive the rows, which the bin deletes, and hold no name of a person or team."""

from __future__ import annotations

from django.db.models import F
from django.db.models.functions import Now
from prometheus_client import Counter

from webapp.core.models import Tally

JOB_ENDS, ATTEMPT_ENDS, ENGINE_DEATHS = "job ends", "attempt ends", "engine deaths"
UPLOADS_REFUSED, BACKUPS = "uploads refused", "backups"


sign_ins_refused = Counter("drafthouse_sign_ins_refused", "Wrong passwords, links and tokens.", ["by"], registry=None)


def add(name: str, kind: str = "", cause: str = "") -> None:
    """Count one more."""
    one = {"name": name, "kind": kind, "cause": cause}
    grown = {"count": F("count") + 1, "latest": Now()}
    if not Tally.objects.filter(**one).update(**grown):
        Tally.objects.get_or_create(name=name, kind=kind, cause=cause)
        Tally.objects.filter(**one).update(**grown)
