"""Change jobs, for people and for workers. Of two who try, one succeeds and the other gets False or a Conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Least, Now
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Forbidden
from webapp.jobs import devices, ends, line, log, moves, nudging
from webapp.jobs.kinds import Kind
from webapp.jobs.models import FINAL, USUAL_PRIORITY, Job, JobState, Pause, Queue, Worker

LEASE = timedelta(seconds=20)
MOST_WAITING = 1000  # per team


# What people do ------------------------------------------------------------------------------------------------------


@transaction.atomic
def enqueue(
    *,
    kind: Kind,
    title: str,
    by: Actor,
    queue: Queue = Queue.CPU,
    total: int = 0,
    priority: int = USUAL_PRIORITY,
    device_count: int = 1,
    arguments: Mapping[str, Any] | None = None,
) -> Job:
    """Submit a job. A light kind goes to the light queue, whichever queue is named."""
    by.require(Right.SUBMIT)
    require_may_give(priority, by)
    if Job.objects.filter(team=by.home, state=JobState.QUEUED).count() >= MOST_WAITING:
        raise Conflict(
            f"{MOST_WAITING} jobs of your team wait already.", hint="Cancel some, or wait.", code="queue-full"
        )
    job = Job.objects.create(
        team=by.home,
        created_by=by.user,
        **kind.columns(),
        queue=Queue.LIGHT if kind.is_light else queue,
        title=title[:200],
        priority=priority,
        total_count=total,
        limit_s=settings.JOB_LIMIT_S,
        device_count=device_count,
        arguments=dict(arguments or {}),
    )
    log.add(job, f"Submitted by {by.user}.")
    transaction.on_commit(lambda: nudging.nudge(job.queue))
    return job


def that_may_cancel(by: Actor) -> Any:
    """Return the jobs that this actor may cancel: those of the team, and for the operator all, because workers serve
    all teams."""
    return Job.objects.all() if by.is_operator else Job.objects.visible_to(by)


@transaction.atomic
def cancel(*, job: Job, by: Actor) -> Job:
    """Cancel a waiting job at once; ask the worker of a running one to stop."""
    if not by.is_operator:
        by.require(Right.SUBMIT)
    if moves.move(job, JobState.QUEUED, JobState.CANCELLED, f"Cancelled by {by.user} before it began."):
        audit.record(by, "cancelled", job, team=job.team)
    elif _ask_to_cancel(job, f"{by.user} asks to cancel."):
        audit.record(by, "asked to cancel", job, team=job.team)
    else:
        job.refresh_from_db()
        ended = "was" if job.state == JobState.CANCELLED else "has"
        raise Conflict(f"This job {ended} {job.state} already.", code="job-is-final", state=job.state)
    return job


def _ask_to_cancel(job: Job, sentence: str) -> bool:
    if not Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(is_cancel_asked=True):
        return False
    job.refresh_from_db()
    log.add(job, sentence)
    log.announce(job.pk)
    return True


@transaction.atomic
def end_those_of_deactivated() -> int:
    """Cancel what people submitted whom the operator has deactivated since. Return how many jobs."""
    theirs = Job.objects.exclude(state__in=FINAL).filter(is_cancel_asked=False, created_by__is_active=False)
    count = 0
    for job in theirs.select_related("created_by", "team"):
        why = f"{job.created_by} was deactivated."
        if moves.move(job, JobState.QUEUED, JobState.CANCELLED, f"Cancelled: {why}") or _ask_to_cancel(job, why):
            audit.noted(job.team, "cancelled", job)
            count += 1
    return count


@transaction.atomic
def retry(*, job: Job, by: Actor) -> Job:
    """Queue it again with fresh attempts; what it has finished stays finished. Of somebody who was deactivated, it
    becomes the job of who tries it again."""
    by.require(Right.SUBMIT)
    job.refresh_from_db()
    is_left = job.created_by is None or not job.created_by.is_active
    if not job.can_retry or not moves.move(
        job,
        JobState(job.state),
        JobState.QUEUED,
        f"Tried again by {by.user}.",
        attempt=0,
        blamed=[],
        setbacks=0,
        not_before=None,
        is_cancel_asked=False,
        refusals={},
        worker="",
        limit_s=settings.JOB_LIMIT_S,
        created_by=by.user if is_left else job.created_by,
        setback="",
    ):
        raise Conflict(
            f"This job is {job.state}; only a failed or cancelled one can be tried again.",
            code="job-is-not-over",
            state=job.state,
        )
    audit.record(by, "retried", job)
    transaction.on_commit(lambda: nudging.nudge(job.queue))
    return job


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
    log.announce(job.pk)
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


@transaction.atomic
def pause(*, queue: Queue, reason: str, by: Actor) -> Pause:
    """Take nothing from this queue until it is resumed. A queue serves all teams, so this is the operator's."""
    _require_operator(by)
    paused, _ = Pause.objects.update_or_create(
        queue=queue, defaults={"since": timezone.now(), "by": by.user, "reason": reason}
    )
    audit.record(by, "paused", paused)
    return paused


@transaction.atomic
def resume(*, queue: Queue, by: Actor) -> None:
    _require_operator(by)
    for paused in Pause.objects.filter(queue=queue):
        audit.record(by, "resumed", paused)
        paused.delete()
    transaction.on_commit(lambda: nudging.nudge(queue))


def _require_operator(by: Actor) -> None:
    by.require(Right.ADMIN)
    if not by.user.is_operator:
        raise Forbidden("Only the operator of this server may do this.", code="operators-only")


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def claim(*, worker: str, queues: Iterable[str]) -> Job | None:
    """Lease the next job of these queues to this worker. None: nothing waits."""
    job = line.next_job(list(queues), worker)
    kept = job.done_count if job and job.keeps_parts else 0
    if (
        job is None
        or not devices.are_free(job, worker)
        or not moves.move(
            job,
            JobState.QUEUED,
            JobState.RUNNING,
            f"Attempt {job.attempt + 1}, on {worker}.",
            worker=worker,
            attempt=job.attempt + 1,
            at="",
            step={},
            not_before=None,
            lease_until=Now() + LEASE,
            started=Now(),
            done_count=kept,
            done_before=kept,
        )
    ):
        return None
    return job


def renew(
    *, job: Job, done: int | None = None, total: int | None = None, step: Mapping[str, Any] | None = None
) -> bool:
    """Extend the lease, and write how far the attempt and its step are. False: the job is no longer ours, stop."""
    changes: dict[str, Any] = {"lease_until": Now() + LEASE}
    if done is not None:
        changes["done_count"] = done
        changes["done_before"] = Least("done_before", Value(done))  # what an earlier attempt had begun is lost
    if total is not None:
        changes["total_count"] = total
    if step is not None:
        changes["step"] = dict(step)
    is_ours = bool(moves.held(job).update(**changes))
    if done is not None:
        log.announce(job.pk)
    return is_ours


def reached(*, job: Job, place: str) -> None:
    """Name the part that is under way from now on: ends of attempts are counted by place."""
    moves.held(job).update(at=place[:200], step={})


def progressed(*, job: Job, done: int) -> bool:
    """Count a lasting part of the work as done. The count of ends begins anew."""
    return bool(moves.held(job).update(done_count=done, blamed=[], setbacks=0))


@transaction.atomic
def note(*, job: Job, sentence: str, numbers: Mapping[str, Any] | None = None) -> None:
    """Add a line to the job's log, from the worker that holds the job."""
    if moves.held(job).select_for_update().exists():
        log.add(job, sentence, numbers)
        log.announce(job.pk)


def require_lease(job: Job) -> None:
    """Raise Conflict if the worker has lost its lease. Call it first in every transaction of a worker."""
    if not moves.held(job).select_for_update().exists():
        raise Conflict("The lease on this job is lost; stop.", code="lease-lost")


def is_cancel_asked(*, job: Job) -> bool:
    return Job.objects.filter(pk=job.pk, is_cancel_asked=True).exists()


@transaction.atomic
def succeed(*, job: Job, done: int | None = None) -> bool:
    """`done` counts the parts: a renewal that began before the last of them may have written fewer."""
    return moves.end(job, JobState.SUCCEEDED, "Done.", **({} if done is None else {"done_count": done}))


@transaction.atomic
def fail(*, job: Job, reason: str) -> bool:
    return moves.end(job, JobState.FAILED, reason)


@transaction.atomic
def stop(*, job: Job) -> bool:
    """End a running job as `cancel` asked."""
    return moves.end(job, JobState.CANCELLED, "Cancelled while it ran.")


@transaction.atomic
def end_over_time(*, job: Job) -> bool:
    hours = f"{job.limit_s / 3600:g} h"
    return moves.end(
        job,
        JobState.FAILED,
        f"It ran for {hours}, the longest that an attempt may take. Finished work is kept. Try again to go on, or have "
        "the operator raise DRAFTHOUSE_JOB_HOURS.",
    )


@transaction.atomic
def give_back(*, job: Job, reason: str, counts: bool, is_silence: bool = False) -> bool:
    """End this attempt; another may follow. `counts`: the job itself can have caused the end."""
    held = moves.held(job).select_for_update().first()
    if held is None:
        return False
    blamed = [*held.blamed, ends.blame(held, is_silence=is_silence)] if counts else held.blamed
    if counts and ends.are_enough(blamed):
        return moves.end(job, JobState.FAILED, f"{reason} {ends.for_good(blamed)}")
    wait = timedelta(seconds=ends.wait_s(held.setbacks + 1))
    verdict = ends.counted(blamed) if counts else ends.OUTSIDE
    later = {"blamed": blamed, "setbacks": held.setbacks + 1, "not_before": Now() + wait if wait else None}
    later["setback"] = f"{reason.splitlines()[0]} {verdict}"
    cause = "silent" if is_silence else "counted" if counts else "outside"
    return moves.requeue(job, f"{reason} {verdict}", cause, **later)


@transaction.atomic
def refuse(*, job: Job, reason: str) -> bool:
    """Give the job to another worker: this one cannot. If there is none, fail it, so that nobody waits in vain."""
    job.refusals = {**job.refusals, job.worker: reason}
    if not moves.held(job).update(refusals=job.refusals):
        return False
    others = [worker.name for worker in Worker.objects.that_could(job)]
    if not others:
        return moves.end(job, JobState.FAILED, line.nobody_can(job))
    return moves.requeue(job, f"{job.worker} cannot do it: {reason} {_listed(others)} may be able to.", "refused")


@transaction.atomic
def release(*, job: Job) -> bool:
    """Give the job back because the worker was told to stop. That is nobody's failure."""
    return moves.requeue(job, f"{job.worker} was stopped; what it had finished is kept.", "stopped")


def take_back_from_silent(*, job: Job) -> bool:
    """Take a job back whose worker has gone silent. The end counts until that worker is back and says why it ended: a
    job that brings machines down must not go through all of them."""
    return _take_back(job, f"{job.worker} went silent.", counts=True, is_silence=True)


def take_back(*, worker: str, ended: str, counts: bool) -> int:
    """Give back what a worker held before it started again, and forget its refusals: it may now be able to."""
    for job in Job.objects.filter(state=JobState.QUEUED, refusals__has_key=worker):
        del job.refusals[worker]
        job.save(update_fields=["refusals"])
    if not counts:
        _absolve(worker)
    held = Job.objects.filter(state=JobState.RUNNING, worker=worker)
    return sum(_take_back(job, f"{worker} {ended}", counts=counts) for job in held)


@transaction.atomic
def _absolve(worker: str) -> None:
    """Remove ends that the silence of this worker had counted: no job caused it."""
    for job in Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING), setbacks__gt=0).select_for_update():
        blamed = ends.without_silence_of(worker, job.blamed)
        if len(blamed) < len(job.blamed):
            Job.objects.filter(pk=job.pk).update(blamed=blamed)
            log.add(job, f"{worker} is there again. {ends.OUTSIDE}")
            log.announce(job.pk)


@transaction.atomic
def _take_back(job: Job, reason: str, *, counts: bool, is_silence: bool = False) -> bool:
    if job.is_cancel_asked:
        return moves.end(job, JobState.CANCELLED, f"Cancelled. {reason}")
    return give_back(job=job, reason=reason, counts=counts, is_silence=is_silence)


def wake_workers() -> None:
    """Nudge every queue in which something waits, in case a nudge was lost or the broker was flushed."""
    for queue in Job.objects.due().order_by().values_list("queue", flat=True).distinct():
        nudging.nudge_again(queue)


def register_worker(
    *,
    name: str,
    queues: list[str],
    devices: list[Any],
    versions: dict[str, str],
    machine: str = "",
    memory: int | None = None,
    marks: Mapping[str, Any] | None = None,
    others: float | None = None,
) -> None:
    """Write that a worker lives: its machine, what it can do, and the share of its cores that other programs use."""
    columns: dict[str, Any] = {
        "machine": machine,
        "memory": memory,
        "queues": queues,
        "devices": devices,
        "versions": versions,
    }
    columns |= {"marks": dict(marks or {}), "others": others, "clock": timezone.now()}
    seen = {**columns, "seen": Now()}
    Worker.objects.update_or_create(name=name, defaults=seen, create_defaults={**seen, "started": Now()})


def _listed(names: Sequence[str]) -> str:
    return " or ".join(names) if len(names) < 4 else f"{names[0]} or one of {len(names) - 1} others"
