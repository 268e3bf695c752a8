"""The line before a queue: who is next, where a job stands, when it may begin.

The team with least running is next, then the team whose last turn is longest ago; in a team, priority first, and among
equals the oldest job. So nobody's hundred jobs, and nobody's urgent ones, make another team wait for all of them.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import ordinal
from django.db import connection
from django.db.models import BooleanField, Count, ExpressionWrapper, Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from webapp.core.problems import NotFound
from webapp.jobs import devices
from webapp.jobs.models import Job, JobState, Pause, Queue, Worker

NEVER = datetime.min.replace(tzinfo=UTC)
RECENT = 20  # jobs of a kind that tell how fast that kind goes


@dataclass(frozen=True, slots=True)
class PlaceInLine:
    position: int  # 1 is next; 0 when it does not wait
    reason: str
    eta_s: float | None = None  # None: it does not wait, nobody is there to do it, or nothing was measured yet


def next_job(queues: Sequence[str], worker: str) -> Job | None:
    """The job that is next, locked where the database can: of two workers who look at once, each gets another."""
    waiting = Job.objects.due().filter(queue__in=queues).exclude(queue__in=Pause.objects.values("queue"))
    waiting = waiting.exclude(refusals__has_key=worker)
    teams = list(waiting.order_by().values_list("team_id", flat=True).distinct())
    if len(teams) > 1:
        waiting = waiting.filter(team_id=_Turns(teams).next(teams))
    if connection.features.has_select_for_update_skip_locked:
        waiting = waiting.select_for_update(skip_locked=True)
    return waiting.first()


def order(queue: str) -> list[UUID]:
    """Waiting jobs of a queue, in the order in which workers will claim them if nothing changes."""
    waiting: dict[UUID, deque[UUID]] = {}
    for team, job in Job.objects.waiting().filter(queue=queue).values_list("team_id", "pk"):
        waiting.setdefault(team, deque()).append(job)
    turns = _Turns(waiting)
    line: list[UUID] = []
    while waiting:
        team = turns.next(waiting)
        turns.take(team)
        line.append(waiting[team].popleft())
        if not waiting[team]:
            del waiting[team]
    return line


def place(job: Job) -> PlaceInLine:
    """Position of a job in its queue, and a sentence that says why it waits."""
    if job.state != JobState.QUEUED:
        return PlaceInLine(0, job.reason)
    line = order(job.queue)
    position = line.index(job.pk) + 1 if job.pk in line else 1
    if pause := Pause.objects.filter(queue=job.queue).select_related("by").first():
        return PlaceInLine(position, f"{ordinal(position)} in `{job.queue}`. {pause}")
    worker_count = len(Worker.objects.that_could(job))
    before = f"{job.reason} " if job.attempt else ""  # why it was given back
    if job.not_before and (wait_s := (job.not_before - timezone.now()).total_seconds()) > 0:
        return PlaceInLine(position, f"{before}A worker tries again in {_about(wait_s)}.", wait_s)
    if not worker_count:
        return PlaceInLine(position, nobody_can(job) if job.refusals else f"{before}{_nobody_listens(job.queue)}")
    running = list(Job.objects.filter(state=JobState.RUNNING, queue=job.queue).exclude(pk=job.pk).order_by("started"))
    pace = _Pace(job.queue)
    eta_s = _eta_s(running, line[: position - 1], worker_count, pace)
    busy = f"{min(len(running), worker_count)} of {worker_count} worker{'s' * (worker_count > 1)} busy"
    if running:
        first = running[0]
        whose = f"“{first.title}”" if first.team_id == job.team_id else "another team's job"
        left = pace.left_s(first)
        busy += f" with {whose}" + (f", {_about(left)} left" if left is not None else "")
    begins = f" It may begin in {_about(eta_s)}." if eta_s else ""
    if eta_s == 0 and (begins := devices.why_not(job)):
        eta_s = None  # its worker is free, and when the other device will be nobody can tell
    return PlaceInLine(position, f"{before}{ordinal(position)} in `{job.queue}`; {busy}.{begins}", eta_s)


def outlook(queue: str) -> str:
    """Sentence about the workers that would run a new job of this queue, and the jobs before it."""
    if pause := Pause.objects.filter(queue=queue).select_related("by").first():
        return str(pause)
    names = [worker.name for worker in Worker.objects.alive() if queue in worker.queues]
    if not names:
        return _nobody_listens(queue)
    ahead = Job.objects.waiting().filter(queue=queue).count()
    busy = set(Job.objects.filter(state=JobState.RUNNING, queue=queue).values_list("worker", flat=True))
    free = [name for name in names if name not in busy]
    if free and not ahead:
        return f"Worker {free[0]} is free and begins at once."
    working = f"{len(names) - len(free)} of {len(names)} worker{'s' * (len(names) > 1)}"
    return f"{working} of `{queue}` busy, {ahead} waiting job{'s' * (ahead != 1)} before it."


def trouble(job: Job) -> str:
    """Sentence about the worker of a running job if it has gone silent, or if its machine is too busy; empty
    otherwise."""
    if job.state != JobState.RUNNING:
        return ""
    is_silent = ExpressionWrapper(Q(seen__lte=Now() - Worker.SUSPICIOUS), BooleanField())
    worker = Worker.objects.filter(name=job.worker).annotate(is_silent=is_silent).first()
    if worker is None or not worker.is_silent:  # type: ignore[attr-defined]  # it is annotated
        return worker.crowd if worker else ""
    return f"Worker {job.worker} does not answer. If it stays silent, another worker takes over and keeps what is done."


def nobody_can(job: Job) -> str:
    """Sentence for a job that every worker at hand has refused."""
    reasons = " ".join(f"{worker}: {reason}" for worker, reason in job.refusals.items())
    return f"No worker at hand can do it. {reasons} Start a worker that can, and try again."


def states() -> list[dict[str, Any]]:
    """Counts of every queue: waiting, running, workers."""
    under_way = (
        Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).order_by().values_list("queue", "state")
    )
    counts = {(queue, state): count for queue, state, count in under_way.annotate(Count("pk"))}
    pauses = {pause.queue: str(pause) for pause in Pause.objects.select_related("by")}
    listening = Counter(queue for worker in Worker.objects.alive() for queue in worker.queues)
    return [
        {
            "name": queue,
            "waiting_count": counts.get((queue, JobState.QUEUED), 0),
            "running_count": counts.get((queue, JobState.RUNNING), 0),
            "worker_count": listening[queue],
            "paused": pauses.get(queue, ""),
        }
        for queue in Queue.values
    ]


def queue_called(name: str) -> Queue:
    if name not in Queue.values:
        raise NotFound(f"There is no queue {name[:40]!r}; there are {', '.join(Queue.values)}.")
    return Queue(name)


def state_of(queue: Queue) -> dict[str, Any]:
    return next(state for state in states() if state["name"] == queue)


class _Turns:
    """Counts how often and how lately each team had its turn."""

    def __init__(self, teams: Iterable[UUID]) -> None:
        jobs = Job.objects.filter(team_id__in=list(teams)).order_by()
        self._running = Counter(jobs.filter(state=JobState.RUNNING).values_list("team_id", flat=True))
        self._last: dict[UUID, datetime] = dict(
            jobs.exclude(started=None).values_list("team_id").annotate(Max("started"))
        )
        self._now = timezone.now()

    def next(self, teams: Iterable[UUID]) -> UUID:
        return min(teams, key=lambda team: (self._running[team], self._last.get(team, NEVER), str(team)))

    def take(self, team: UUID) -> None:
        self._now += timedelta(seconds=1)
        self._last[team] = self._now
        self._running[team] += 1


class _Pace:
    """Estimates how long jobs of one queue take: by a running job's own pace, else by recent jobs of its kind."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._known: dict[str, float | None] = {}

    def left_s(self, job: Job) -> float | None:
        return self.to_do_s(job) if job.part_s() is None and not job.is_in_step else job.left_s()

    def to_do_s(self, job: Job) -> float | None:
        """Seconds for a job that waits or has only begun."""
        if job.kind not in self._known:
            self._known[job.kind] = self._lately(job.kind)
        pace = self._known[job.kind]
        parts = max(1, job.total_count - job.done_count) if job.is_sized else 1
        return None if pace is None else pace * parts

    def _lately(self, kind: str) -> float | None:
        """Seconds for one part of recent jobs; for a whole job where its parts are not known beforehand."""
        done = Job.objects.filter(kind=kind, queue=self._queue, state=JobState.SUCCEEDED).exclude(started=None)
        recent = list(done.order_by("-created")[:RECENT])
        parts = sum(max(1, job.total_count - job.done_before) if job.is_sized else 1 for job in recent)
        return sum((job.finished - job.started).total_seconds() for job in recent) / parts if parts else None


def _eta_s(running: Sequence[Job], ahead: Sequence[UUID], worker_count: int, pace: _Pace) -> float | None:
    """Seconds until a worker is free: each job ahead goes to the worker that is free first."""
    if len(running) < worker_count and not ahead:
        return 0.0
    waiting = Job.objects.in_bulk(ahead)
    left = [pace.left_s(job) for job in running]
    before = [pace.to_do_s(waiting[one]) for one in ahead if one in waiting]
    if None in left or None in before:
        return None
    free = [seconds for seconds in left if seconds is not None] + [0.0] * (worker_count - len(running))
    heapq.heapify(free)
    for seconds in before:
        heapq.heapreplace(free, free[0] + (seconds or 0.0))
    return free[0]


def _nobody_listens(queue: str) -> str:
    if queue == Queue.GPU:
        return (
            "No worker listens on `gpu`; start one with `./drafthouse up` on a machine with an NVIDIA GPU, "
            "or choose the queue `cpu`."
        )
    if queue == Queue.LIGHT:
        return "No worker listens on `light`; start one with `python -m worker --queue light`, or `./drafthouse up`."
    return f"No worker listens on `{queue}`; start one with `./drafthouse up`."


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min"
    return f"about {seconds / 3600:.1f} h"
