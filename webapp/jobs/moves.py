"""Moves of a job from one state to another. Every move is compare-and-set: of two who try, one succeeds."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from webapp.core import tallies
from webapp.jobs import log, nudging
from webapp.jobs.models import FINAL, Job, JobState


def held(job: Job) -> Any:
    """Row of the job if this very attempt still holds it: a worker that lost its lease must not write."""
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempt=job.attempt, worker=job.worker)


def end(job: Job, state: JobState, reason: str, **changes: Any) -> bool:
    """End a job whose attempt this is."""
    return move(job, JobState.RUNNING, state, reason, attempt_now=job.attempt, lease_until=None, step={}, **changes)


def requeue(job: Job, reason: str, cause: str, **changes: Any) -> bool:
    """Give a job back to its queue. `cause` is what metrics call the end of its attempt."""
    free = {"worker": "", "lease_until": None, "step": {}, "setback": reason.splitlines()[0], **changes}
    moved = move(job, JobState.RUNNING, JobState.QUEUED, reason, attempt_now=job.attempt, **free)
    if moved:
        tallies.add(tallies.ATTEMPT_ENDS, job.kind, cause)
        transaction.on_commit(lambda: nudging.nudge(job.queue))
    return moved


def move(
    job: Job, expected: JobState, to: JobState, sentence: str, *, attempt_now: int | None = None, **changes: Any
) -> bool:
    row = Job.objects.filter(pk=job.pk, state=expected)
    if attempt_now is not None:
        row = row.filter(attempt=attempt_now)
    finished = Now() if to in FINAL else None  # by the database's clock: those of workers may be wrong
    if not row.update(state=to, reason=sentence, finished=finished, **changes):
        return False
    job.refresh_from_db()
    if to in FINAL:
        tallies.add(tallies.JOB_ENDS, job.kind, _cause(job))
    log.add(job, sentence)
    log.announce(job.pk)
    return True


def _cause(job: Job) -> str:
    """Name the end of a job for metrics. It failed because no worker could do it, because its attempts were used up,
    or because its work is impossible."""
    if job.state != JobState.FAILED:
        return job.state
    return "refused" if job.refusals else "attempts" if job.blamed else "error"
