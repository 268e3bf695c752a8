"""The only door to a job's log: written line by line, and read by its page, the API and scripts, each from a cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Max

from webapp.core import nudges
from webapp.core.bells import Source
from webapp.jobs import line
from webapp.jobs.models import Job, JobEvent, State


def add(job: Job, sentence: str, numbers: Mapping[str, Any] | None = None) -> None:
    last = JobEvent.objects.filter(job=job).aggregate(last=Max("seq"))["last"] or 0
    JobEvent.objects.create(job=job, seq=last + 1, state=job.state, sentence=sentence, numbers=dict(numbers or {}))


def read(*, job: UUID, after: int, limit: int) -> list[JobEvent]:
    """Lines after the cursor, in order. A line is written under the job's lock, so there are no holes."""
    return list(JobEvent.objects.filter(job=job, seq__gt=after).order_by("seq")[:limit])


def source(job: UUID) -> Source:
    """Source to wait on, for more lines or another state."""
    rows = Job.objects.filter(pk=job).values_list("state", "done_count").annotate(Max("events__seq"))
    return Source(f"job {job}", group(job), lambda: list(rows.all()))


def shown(event: JobEvent) -> dict[str, Any]:
    """A line as watchers are told it."""
    return {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "state": event.state,
        "sentence": event.sentence,
        "numbers": event.numbers,
    }


def status_of(job: Job, *, done: int, total: int, part_s: float | None = None) -> dict[str, Any]:
    """Status of a job, as its page gets it. `part_s`, where it is known, is the time for one part without what comes
    before the first, such as loading models."""
    place = line.place(job)
    return {
        "state": job.state,
        "is_final": job.is_final,
        "can_cancel": job.can_cancel,
        "sentence": place.reason,
        "position": place.position,
        "attempt": job.attempt,
        "trouble": line.trouble(job),
        "done": done,
        "total": total,
        "seconds_left": _seconds_left(job, done, total, part_s),
    }


def is_same_status(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Compare without the time left, which is sent only with other changes."""
    return {**one, "seconds_left": 0} == {**other, "seconds_left": 0}


def _seconds_left(job: Job, done: int, total: int, part_s: float | None) -> int | None:
    """Seconds left at the job's own pace so far. None while nothing is known or nothing is left."""
    pace = part_s or job.part_s()
    return round(pace * max(0, total - done)) if pace is not None and job.state == State.RUNNING else None


def group(job: UUID) -> str:
    """Name of the group that a nudge wakes: the watchers of this job."""
    return f"job.{job.hex}"


def nudge(job: UUID) -> None:
    nudges.nudge(group(job))
