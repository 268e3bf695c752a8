"""Priorities of jobs among those of their team. Between teams they do not count: teams take turns."""

from __future__ import annotations

from django.db import transaction

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Forbidden
from webapp.jobs import log
from webapp.jobs.models import USUAL_PRIORITY, Job, JobState


@transaction.atomic
def prioritise(*, job: Job, priority: int, by: Actor) -> Job:
    """Change the priority of a waiting job."""
    by.require(Right.SUBMIT)
    require_may_give(max(priority, job.priority), by)
    if not Job.objects.filter(pk=job.pk, state=JobState.QUEUED).update(priority=priority):
        job.refresh_from_db()
        raise Conflict(f"This job is {job.state}; a priority only matters while it waits.", code="job-does-not-wait")
    job.refresh_from_db()
    log.add(job, f"{by.user} gives it priority {priority}.")
    log.nudge(job.pk)
    audit.record(by, "prioritised", job, priority=priority)
    return job


def require_may_give(priority: int, by: Actor) -> None:
    """Let everybody who submits lower a priority, and only owners put a job before others of their team."""
    if priority > USUAL_PRIORITY and not by.can_admin:
        raise Forbidden(
            f"Only owners may put a job before others of their team, with a priority above {USUAL_PRIORITY}.",
            field="priority",
            hint="Ask an owner, or use an owner's token with the scope admin.",
        )
