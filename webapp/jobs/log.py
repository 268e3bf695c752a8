"""The only door to a job's log: its page, the API and scripts read here, each from a cursor of its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone

from webapp.core import nudges
from webapp.jobs import line
from webapp.jobs.models import Job, JobEvent, State


def read(*, job: UUID, after: int, limit: int) -> list[JobEvent]:
    """What happened after the cursor, in order. A line is written under the job's lock, so there are no holes."""
    return list(JobEvent.objects.filter(job=job, seq__gt=after).order_by("seq")[:limit])


def shown(event: JobEvent) -> dict[str, Any]:
    """A line as watchers are told it."""
    return {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "state": event.state,
        "sentence": event.sentence,
        "numbers": event.numbers,
    }


def status_of(job: Job) -> dict[str, Any]:
    """Where a job stands, as its page is told."""
    place = line.place(job)
    return {
        "state": job.state,
        "is_final": job.is_final,
        "can_cancel": job.can_cancel,
        "sentence": place.reason,
        "position": place.position,
        "done": job.done_count,
        "total": job.total_count,
        "seconds_left": _seconds_left(job),
    }


def _seconds_left(job: Job) -> int | None:
    """From its own pace so far. None while nothing is known or nothing is left."""
    if job.state != State.RUNNING or job.started is None or not job.done_count:
        return None
    elapsed = (timezone.now() - job.started).total_seconds()
    return round(elapsed / job.done_count * max(0, job.total_count - job.done_count))


def group(job: UUID) -> str:
    """Whom a nudge wakes: the watchers of this job and nobody else's."""
    return f"job.{job.hex}"


def nudge(job: UUID) -> None:
    nudges.nudge(group(job))
