"""Metrics of the whole lab from the database: queues, leases, jobs, workers, decoding. Every web process tells the
same.

A few queries, each by an index or over the jobs alone: samples and traces are read for jobs of the last minute only.
Labels are queues, kinds, states and workers, never teams, people, ids or paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, Max, Min, Q, Sum, Value, When
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from webapp.comparisons.models import Sample
from webapp.core import tallies
from webapp.core.models import Tally
from webapp.jobs.models import Job, JobState, Pause, Queue, Reading, Worker
from webapp.jobs.services import LEASE

WINDOW = timedelta(seconds=60)
GONE_FOR = timedelta(days=1)  # that a worker was last seen before its series end

Families = Iterator[Metric]

# Why a job failed, as its row says: no worker could do it, its attempts were used up, or its work is impossible.
ENDS = Case(
    When(~Q(state=JobState.FAILED), then=Value("")),
    When(~Q(refusals={}), then=Value("refused")),
    When(~Q(blamed=[]), then=Value("attempts")),
    default=Value("error"),
)


def families() -> Families:
    now = timezone.now()
    yield from _queues(now)
    yield from _jobs()
    yield from _leases(now)
    yield from _workers(now)
    yield from _tallies(now)
    yield from _decoding(now)


def _gauge(name: str, help: str, labels: str, rows: Iterable[tuple[Any, ...]]) -> Metric:
    """Make a gauge of rows that end with its value. One that is not known is left out."""
    family = GaugeMetricFamily(f"drafthouse_{name}", help, labels=labels.split())
    for *values, value in rows:
        if value is not None:
            family.add_metric(values, value)
    return family


def _queues(now: datetime) -> Families:
    rows = Job.objects.filter(state=JobState.QUEUED).order_by().values_list("queue", "kind")
    found = list(rows.annotate(Count("pk"), Min("created")))
    yield _gauge("queue_waiting", "Jobs that wait.", "queue kind", (row[:3] for row in found))
    oldest = ((queue, kind, _age(now, since)) for queue, kind, _, since in found)
    yield _gauge("queue_oldest_seconds", "Age of the oldest job that waits.", "queue kind", oldest)
    pauses = set(Pause.objects.values_list("queue", flat=True))
    paused = ((name, name in pauses) for name in Queue.values)
    yield _gauge("queue_paused", "1 while somebody has paused the queue.", "queue", paused)


def _jobs() -> Families:
    rows = Job.objects.order_by().annotate(why=ENDS).values_list("kind", "state", "why").annotate(Count("pk"))
    told = "Jobs there are. `reason` says of failed ones: refused, attempts or error."
    yield _gauge("jobs", told, "kind state reason", rows)


def _leases(now: datetime) -> Families:
    running = Job.objects.filter(state=JobState.RUNNING).order_by().values_list("queue")
    found = {queue: (count, until) for queue, count, until in running.annotate(Count("pk"), Min("lease_until"))}
    leases = [(queue, *found.get(queue, (0, None))) for queue in Queue.values]
    yield _gauge("leases", "Jobs that a worker holds.", "queue", (row[:2] for row in leases))
    ages = ((queue, _age(now, until - LEASE) if until else 0) for queue, _, until in leases)
    yield _gauge("lease_renewed_seconds", "Time since the renewal that is longest ago.", "queue", ages)


def _workers(now: datetime) -> Families:
    columns = Worker.objects.only("name", "queues", "seen", "clock", "others")
    listening = Counter(queue for worker in columns.alive() for queue in worker.queues)
    yield _gauge("workers", "Workers alive.", "queue", ((queue, listening[queue]) for queue in Queue.values))
    lately = columns.lately(GONE_FOR)  # one that has died keeps its series, so that an alert can see it
    seen = ((worker.name, _age(now, worker.seen)) for worker in lately)
    yield _gauge("worker_seen_seconds", "Time since it was seen.", "worker", seen)
    off = ((worker.name, (worker.clock - worker.seen).total_seconds()) for worker in lately if worker.clock)
    yield _gauge("worker_clock_off_seconds", "Its clock, less the database's.", "worker", off)
    others = ((worker.name, worker.others) for worker in lately)
    yield _gauge("worker_others", "Share of its cores that other programs use.", "worker", others)


def _tallies(now: datetime) -> Families:
    """Yield totals since the lab began, which no bin and no restart sets back."""
    found = list(Tally.objects.all())
    for name, title, help in (
        (tallies.JOB_ENDS, "job_ends", "Ended jobs."),
        (tallies.ATTEMPT_ENDS, "attempt_ends", "Attempts after which a job went back to its queue."),
        (tallies.ENGINE_DEATHS, "engine_deaths", "Engines that died or hung."),
    ):
        total = CounterMetricFamily(f"drafthouse_{title}", help, labels=["kind", "cause"])
        for tally in (tally for tally in found if tally.name == name):
            total.add_metric([tally.kind, tally.cause], tally.count)
        yield total
    counts = {tally.name: tally.count for tally in found}
    refused, backups = counts.get(tallies.UPLOADS_REFUSED, 0), counts.get(tallies.BACKUPS, 0)
    yield CounterMetricFamily("drafthouse_uploads_refused", "Uploads that no worker could unpack.", value=refused)
    yield CounterMetricFamily("drafthouse_backups", "Whole backups.", value=backups)
    latest = [(_age(now, tally.latest),) for tally in found if tally.name == tallies.BACKUPS and tally.latest]
    if latest:
        yield _gauge("backup_age_seconds", "Time since the latest whole backup.", "", latest)


def _decoding(now: datetime) -> Families:
    """Yield rates of the last minute. Few jobs can have decoded then; the workers' own readings are the newest."""
    since = now - WINDOW
    recent = list(
        Job.objects.filter(Q(state=JobState.RUNNING) | Q(finished__gte=since)).values_list("pk", flat=True)[:500]
    )
    fresh = Sample.objects.filter(run__comparison__job__in=recent, finished__gte=since)
    rate = (fresh.aggregate(tokens=Sum("new_tokens"))["tokens"] or 0) / WINDOW.total_seconds()
    told = "Tokens generated in samples that finished, over the last minute."
    yield _gauge("tokens_per_second", told, "", [(rate,)])
    yield from _readings(since)


def _readings(since: datetime) -> Families:
    running = Job.objects.filter(state=JobState.RUNNING).values("pk")
    newest = Reading.objects.filter(job__in=running, at__gte=since).order_by().values("worker").annotate(last=Max("pk"))
    readings = list(Reading.objects.filter(pk__in=[row["last"] for row in newest]))
    lags = ((reading.worker, reading.values.get("event_lag_s")) for reading in readings)
    yield _gauge(
        "event_lag_seconds", "Longest time lately from a round's end to its event in the database.", "worker", lags
    )
    gpus = [
        (reading.worker, str(number), gpu)
        for reading in readings
        for number, gpu in enumerate(reading.values.get("gpus", ()))
    ]
    busy = ((worker, number, gpu["utilisation"]) for worker, number, gpu in gpus)
    yield _gauge("gpu_utilisation", "Share of time a GPU was busy.", "worker gpu", busy)
    memory = ((worker, number, gpu["memory_used"]) for worker, number, gpu in gpus)
    yield _gauge("gpu_memory_bytes", "GPU memory in use.", "worker gpu", memory)


def _age(now: datetime, since: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
