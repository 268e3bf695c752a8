"""The line before a queue: who is next, where a job stands, why it waits.

The team with least running is next, then the team whose last turn is longest ago; in a team, priority first, and among
equals the oldest job. So nobody's hundred jobs, and nobody's urgent ones, make another team wait for all of them.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class PlaceInLine:
    position: int  # 1 is next; 0 when it does not wait
    reason: str


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
        return PlaceInLine(position, f"{before}A worker tries again in {_about(wait_s)}.")
    if not worker_count:
        return PlaceInLine(position, nobody_can(job) if job.refusals else f"{before}{_nobody_listens(job.queue)}")
    running = list(Job.objects.filter(state=JobState.RUNNING, queue=job.queue).exclude(pk=job.pk).order_by("started"))
    busy = f"{min(len(running), worker_count)} of {worker_count} worker{'s' * (worker_count > 1)} busy"
    if running:
        first = running[0]
        whose = f"“{first.title}”" if first.team_id == job.team_id else "another team's job"
        left_s = first.left_s()
        busy += f" with {whose}" + (f", {_about(left_s)} left" if left_s is not None else "")
    is_next = position == 1 and len(running) < worker_count
    why = devices.why_not(job) if is_next else ""
    return PlaceInLine(position, f"{before}{ordinal(position)} in `{job.queue}`; {busy}.{why}")


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
