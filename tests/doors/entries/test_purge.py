"""The bin: a month of second thoughts, and then nothing is left."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.comparisons import figures
from webapp.comparisons.models import Comparison, Conditions, Run, Sample, TraceChunk
from webapp.entries.purge import purge
from webapp.jobs.models import Job
from webapp.registry.models import Dataset, LanguageModel, Pair


def binned(*entries, days=31):
    for entry in entries:
        type(entry).objects.filter(pk=entry.pk).update(binned=timezone.now() - timedelta(days=days))


def test_after_a_month_nothing_is_left_of_it_unless_something_points_at_it(by):
    comparison = make.comparison(by)
    Job.objects.exclude(pk=comparison.job.pk).delete()
    binned(comparison)
    assert purge() == 0, "what still runs is not taken from under its worker"
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    binned(comparison, comparison.pair, days=29)
    assert purge() == 0 and TraceChunk.objects.exists()
    binned(comparison.pair, comparison.pair.target, comparison.pair.draft, comparison.dataset)
    assert purge() == 0 and Pair.objects.exists() and not AuditEntry.objects.filter(verb="purged").exists()
    binned(comparison)
    assert purge() == 5
    for kind in (Comparison, Run, Sample, TraceChunk, Conditions, Job, Pair, LanguageModel, Dataset):
        assert not kind.objects.exists(), kind
    assert AuditEntry.objects.filter(verb="purged", user=None).count() == 5
    assert purge() == 0
