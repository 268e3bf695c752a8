"""The bin: a month of second thoughts, and then nothing is left. Records of what was are kept for as long as the
operator wants, and results for ever."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.utils import timezone

from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.comparisons import figures
from webapp.comparisons.models import Comparison, Conditions, Run, Sample, TraceChunk
from webapp.entries.purge import purge
from webapp.jobs import retention, services, telemetry
from webapp.jobs.models import Job, JobEvent, Reading, Worker
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


def ended(world, days: int) -> Job:
    comparison = make.comparison(world.actor(world.bob))
    Job.objects.filter(comparison=None).delete()
    make.decode_all(comparison)
    job = Job.objects.get(pk=comparison.job_id)
    telemetry.keep(job=job, values={})
    Job.objects.filter(pk=job.pk).update(finished=Now() - timedelta(days=days))
    return job


def test_records_go_when_they_are_old_and_results_stay(world, settings):
    settings.KEPT_DAYS = 30
    old, new = ended(world, 31), ended(world, 29)
    for name, days in (("old", 31), ("new", 29)):
        services.register_worker(name=name, queues=["cpu"], devices=[], versions={})
        Worker.objects.filter(name=name).update(seen=Now() - timedelta(days=days))
    AuditEntry.objects.filter(subject_id=str(Comparison.objects.get(job=old).pk)).update(
        created=Now() - timedelta(days=31)
    )
    audited, samples = AuditEntry.objects.count(), Sample.objects.count()
    for key, days in (("expired", -1), ("live", 1)):
        Session.objects.create(session_key=key, expire_date=Now() + timedelta(days=days))
    assert retention.sweep() > 0
    assert not JobEvent.objects.filter(job=old).exists() and not Reading.objects.filter(job=old).exists()
    assert JobEvent.objects.filter(job=new).exists() and Reading.objects.filter(job=new).exists()
    assert "old" not in Worker.objects.values_list("name", flat=True) and Worker.objects.filter(name="new").exists()
    assert 0 < AuditEntry.objects.count() < audited
    assert not Session.objects.filter(pk="expired").exists() and Session.objects.filter(pk="live").exists()
    assert (Sample.objects.count(), Comparison.objects.count()) == (samples, 2)
    assert retention.sweep() == 0
    settings.KEPT_DAYS = 0  # whoever keeps them for ever loses only sessions
    Job.objects.update(finished=Now() - timedelta(days=5000))
    Session.objects.create(session_key="expired", expire_date=Now() - timedelta(days=1))
    assert retention.sweep() == 1
    assert JobEvent.objects.filter(job=new).exists()
