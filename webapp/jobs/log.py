"""The only door to a job's log: written line by line, and read by its page, the API and scripts, each from a cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.db.models.functions import Now

from webapp.core import news
from webapp.jobs import line
from webapp.jobs.models import Job, JobEvent, JobState


def add(job: Job, sentence: str, numbers: Mapping[str, Any] | None = None) -> None:
    last = JobEvent.objects.filter(job=job).aggregate(last=Max("seq"))["last"] or 0
    what = {"state": job.state, "sentence": sentence, "numbers": dict(numbers or {})}
    JobEvent.objects.create(job=job, seq=last + 1, at=Now(), **what)


def read(*, job: UUID, after: int, limit: int) -> list[JobEvent]:
    """Lines after the cursor, in order. A line is written under the job's lock, so there are no holes."""
    return list(JobEvent.objects.filter(job=job, seq__gt=after).order_by("seq")[:limit])


def source(job: UUID) -> news.NewsSource:
    """Source to wait on, for more lines or another state."""
    rows = Job.objects.filter(pk=job).values_list("state", "done_count", "step").annotate(Max("events__seq"))
    return news.NewsSource(f"job {job}", group(job), lambda: list(rows.all()))


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
        "setback": job.setback,
        "trouble": line.trouble(job),
        "done": done,
        "total": total,
        "parts": job.parts,
        "step": job.running_step,
        "seconds_left": _seconds_left(job, part_s),
    }


def is_same_status(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Compare without the time left, which is sent only with other changes."""
    return {**one, "seconds_left": 0} == {**other, "seconds_left": 0}


def _seconds_left(job: Job, part_s: float | None) -> int | None:
    left = job.left_s(part_s) if job.state == JobState.RUNNING else None
    return None if left is None else max(1, round(left))


def group(job: UUID) -> str:
    """Name of the group to which changes are announced: who watches this job, or the comparison that it carries out."""
    return f"job.{job.hex}"


def announce(job: UUID) -> None:
    news.announce(group(job))
