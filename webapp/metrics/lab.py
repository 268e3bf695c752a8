"""Metrics of the whole lab from the database: queues, leases, jobs, workers, decoding. Every web process tells the
same.

A few queries, each by an index or over the jobs alone: samples and traces are read for jobs of the last minute only.
Labels are queues, kinds, states and workers, never teams, people, ids or paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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


def _queues(now: datetime) -> Families:
    waiting = GaugeMetricFamily("drafthouse_queue_waiting", "Jobs that wait.", labels=["queue", "kind"])
    oldest = GaugeMetricFamily(
        "drafthouse_queue_oldest_seconds", "Age of the oldest job that waits.", labels=["queue", "kind"]
    )
    rows = Job.objects.filter(state=JobState.QUEUED).order_by().values_list("queue", "kind")
    for queue, kind, count, since in rows.annotate(Count("pk"), Min("created")):
        waiting.add_metric([queue, kind], count)
        oldest.add_metric([queue, kind], _age(now, since))
    paused = GaugeMetricFamily("drafthouse_queue_paused", "1 while somebody has paused the queue.", labels=["queue"])
    pauses = set(Pause.objects.values_list("queue", flat=True))
    for name in Queue.values:
        paused.add_metric([name], name in pauses)
    yield from (waiting, oldest, paused)


def _jobs() -> Families:
    jobs = GaugeMetricFamily(
        "drafthouse_jobs",
        "Jobs there are. `reason` says of failed ones: refused, attempts or error.",
        labels=["kind", "state", "reason"],
    )
    rows = Job.objects.order_by().annotate(why=ENDS).values_list("kind", "state", "why")
    for kind, state, why, count in rows.annotate(Count("pk")):
        jobs.add_metric([kind, state, why], count)
    yield jobs
    done = Job.objects.exclude(comparison=None).aggregate(done=Sum("done_count"))["done"] or 0
    yield GaugeMetricFamily("drafthouse_samples", "Finished samples of all comparisons there are.", value=done)


def _leases(now: datetime) -> Families:
    held = GaugeMetricFamily("drafthouse_leases", "Jobs that a worker holds.", labels=["queue"])
    age = GaugeMetricFamily(
        "drafthouse_lease_renewed_seconds", "Time since the renewal that is longest ago.", labels=["queue"]
    )
    running = Job.objects.filter(state=JobState.RUNNING).order_by().values_list("queue")
    found = {queue: (count, until) for queue, count, until in running.annotate(Count("pk"), Min("lease_until"))}
    for queue in Queue.values:
        count, until = found.get(queue, (0, None))
        held.add_metric([queue], count)
        age.add_metric([queue], _age(now, until - LEASE) if until else 0)
    yield from (held, age)


def _workers(now: datetime) -> Families:
    alive = GaugeMetricFamily("drafthouse_workers", "Workers alive.", labels=["queue"])
    seen = GaugeMetricFamily("drafthouse_worker_seen_seconds", "Time since it was seen.", labels=["worker"])
    off = GaugeMetricFamily("drafthouse_worker_clock_off_seconds", "Its clock, less the database's.", labels=["worker"])
    others = GaugeMetricFamily(
        "drafthouse_worker_others", "Share of its cores that other programs use.", labels=["worker"]
    )
    columns = Worker.objects.only("name", "queues", "seen", "clock", "others")
    listening = Counter(queue for worker in columns.alive() for queue in worker.queues)
    for queue in Queue.values:
        alive.add_metric([queue], listening[queue])
    for worker in columns.lately(GONE_FOR):  # one that has died keeps its series, so that an alert can see it
        seen.add_metric([worker.name], _age(now, worker.seen))
        if worker.clock is not None:
            off.add_metric([worker.name], (worker.clock - worker.seen).total_seconds())
        if worker.others is not None:
            others.add_metric([worker.name], worker.others)
    yield from (alive, seen, off, others)


def _tallies(now: datetime) -> Families:
    """Yield totals since the lab began, which no bin and no restart sets back."""
    ends = {
        tallies.JOB_ENDS: CounterMetricFamily("drafthouse_job_ends", "Ended jobs.", labels=["kind", "cause"]),
        tallies.ATTEMPT_ENDS: CounterMetricFamily(
            "drafthouse_attempt_ends", "Attempts after which a job went back to its queue.", labels=["kind", "cause"]
        ),
        tallies.ENGINE_DEATHS: CounterMetricFamily(
            "drafthouse_engine_deaths", "Engines that died or hung.", labels=["kind", "cause"]
        ),
    }
    others = dict.fromkeys((tallies.UPLOADS_REFUSED, tallies.BACKUPS), 0)
    for tally in Tally.objects.all():
        if tally.name in ends:
            ends[tally.name].add_metric([tally.kind, tally.cause], tally.count)
        elif tally.name in others:
            others[tally.name] = tally.count
        if tally.name == tallies.BACKUPS and tally.latest:
            age = _age(now, tally.latest)
            yield GaugeMetricFamily("drafthouse_backup_age_seconds", "Time since the latest whole backup.", value=age)
    yield from ends.values()
    refused = others[tallies.UPLOADS_REFUSED]
    yield CounterMetricFamily("drafthouse_uploads_refused", "Uploads that no worker could unpack.", value=refused)
    yield CounterMetricFamily("drafthouse_backups", "Whole backups.", value=others[tallies.BACKUPS])


def _decoding(now: datetime) -> Families:
    """Yield rates of the last minute. Few jobs can have decoded then; the workers' own readings are the newest."""
    since = now - WINDOW
    recent = list(
        Job.objects.filter(Q(state=JobState.RUNNING) | Q(finished__gte=since)).values_list("pk", flat=True)[:500]
    )
    fresh = Sample.objects.filter(run__comparison__job__in=recent, finished__gte=since)
    told = fresh.aggregate(samples=Count("pk"), tokens=Sum("new_tokens"), events=Sum("last_seq"))
    for name, unit in (("samples", "Samples finished"), ("tokens", "Tokens generated in samples that finished"),
                       ("events", "Trace events of samples that finished")):  # fmt: skip
        rate = (told[name] or 0) / WINDOW.total_seconds()
        yield GaugeMetricFamily(f"drafthouse_{name}_per_second", f"{unit}, over the last minute.", value=rate)
    yield from _readings(since)


def _readings(since: datetime) -> Families:
    lag = GaugeMetricFamily(
        "drafthouse_event_lag_seconds",
        "Longest time lately from a round's end to its event in the database.",
        labels=["worker"],
    )
    busy = GaugeMetricFamily("drafthouse_gpu_utilisation", "Share of time a GPU was busy.", labels=["worker", "gpu"])
    memory = GaugeMetricFamily("drafthouse_gpu_memory_bytes", "GPU memory in use.", labels=["worker", "gpu"])
    running = Job.objects.filter(state=JobState.RUNNING).values("pk")
    newest = Reading.objects.filter(job__in=running, at__gte=since).order_by().values("worker").annotate(last=Max("pk"))
    for reading in Reading.objects.filter(pk__in=[row["last"] for row in newest]):
        values: dict[str, Any] = reading.values
        if values.get("event_lag_s") is not None:
            lag.add_metric([reading.worker], values["event_lag_s"])
        for number, gpu in enumerate(values.get("gpus", ())):
            if gpu["utilisation"] is not None:
                busy.add_metric([reading.worker, str(number)], gpu["utilisation"])
            if gpu["memory_used"] is not None:
                memory.add_metric([reading.worker, str(number)], gpu["memory_used"])
    yield from (lag, busy, memory)


def _age(now: datetime, since: datetime) -> float:
    return max(0.0, (now - since).total_seconds())
