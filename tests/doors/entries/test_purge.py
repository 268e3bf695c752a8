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


def ended(world):
    comparison = make.comparison(world.actor(world.bob))
    Job.objects.exclude(pk=comparison.job.pk).delete()
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    return Comparison.objects.get(pk=comparison.pk)


def test_after_a_month_nothing_is_left_of_it(world):
    comparison = ended(world)
    binned(comparison, comparison.pair, comparison.pair.target, comparison.pair.draft, comparison.dataset)
    assert purge() == 5
    for kind in (Comparison, Run, Sample, TraceChunk, Conditions, Job, Pair, LanguageModel, Dataset):
        assert not kind.objects.exists(), kind
    assert AuditEntry.objects.filter(verb="purged", user=None).count() == 5
    assert purge() == 0


def test_within_the_month_and_while_something_points_at_it_everything_stays(world):
    comparison = ended(world)
    binned(comparison, comparison.pair, days=29)
    assert purge() == 0
    assert TraceChunk.objects.exists()
    binned(comparison.pair, comparison.dataset)
    assert purge() == 0
    assert Pair.objects.exists() and not AuditEntry.objects.filter(verb="purged").exists()
    binned(comparison)
    assert purge() == 3


def test_what_still_runs_is_not_taken_from_under_its_worker(world):
    comparison = make.comparison(world.actor(world.bob))
    binned(comparison)
    assert purge() == 0
    Job.objects.filter(pk=comparison.job.pk).update(state="cancelled", finished=timezone.now())
    assert purge() == 1
