"""Devices of one machine, whose jobs would spoil each other's figures.

Jobs on the GPU and on the cores of one machine take turns, unless DRAFTHOUSE_MEASURE_AT_ONCE allows both: the loop that
feeds a GPU needs a core. A job may need two devices: a GPU for the target and, beside it, cores of the same machine for
the draft. Such a job begins when both are free, and nothing else begins on those cores while it runs."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q

from webapp.jobs.models import Job, Jobs, JobState, Pause, Queue, Worker

BOTH = 2
OTHER = {Queue.CPU: Queue.GPU, Queue.GPU: Queue.CPU}  # queues whose jobs measure


def are_free(job: Job, worker: str) -> bool:
    """Whether the job may begin here. Call it in the transaction of a claim: workers of one machine then take turns."""
    machine = Worker.objects.filter(name=worker).values_list("machine", flat=True).first()
    if not machine:
        return True
    there = Worker.objects.select_for_update().filter(machine=machine).order_by("name")
    neighbours = [one for one in there if one.name != worker]
    running = Job.objects.filter(state=JobState.RUNNING, worker__in=[one.name for one in neighbours])
    if not settings.MEASURE_AT_ONCE and _is_others_turn(job, [one.name for one in there], neighbours, running):
        return False
    if job.device_count == BOTH:
        return not running.filter(Q(queue=Queue.CPU) | Q(device_count=BOTH)).exists()
    if job.queue == Queue.CPU:
        return not running.filter(device_count=BOTH).exists() and not _is_somebody_before(job, neighbours)
    return True


def why_not(job: Job) -> str:
    """Sentence for a job that waits although a worker of its queue is idle."""
    if job.device_count == BOTH:
        return " It needs a GPU and cores of the same machine at once, and waits until both are free."
    if job.queue == Queue.CPU and _with_both().exists():
        return " Cores are kept for a job that needs them beside its GPU."
    if not settings.MEASURE_AT_ONCE and (other := OTHER.get(Queue(job.queue))) and _is_taken(job.queue, other):
        return f" It takes turns with a job of `{other}` on the same machine: each would spoil the other's figures."
    return ""


def _is_taken(queue: str, other: str) -> bool:
    """Whether a job of the other queue runs on every machine where a worker of this queue is idle."""
    workers = list(Worker.objects.all())
    machine_of = {one.name: one.machine for one in workers}
    idle = {machine_of[name] for name in _idle(queue, workers)}
    running = Job.objects.filter(state=JobState.RUNNING, queue=other).values_list("worker", flat=True)
    return bool(idle) and idle <= {machine_of.get(name) for name in running} - {""}


def _is_others_turn(job: Job, there: list[str], neighbours: list[Worker], running: Jobs) -> bool:
    """Whether a job of the other queue runs on this machine, or could and has waited while one of this queue ran."""
    other = OTHER.get(Queue(job.queue))
    if other is None or running.filter(queue=other).exists():
        return other is not None
    idle = _idle(other, neighbours)
    last = Job.objects.filter(worker__in=there, queue__in=OTHER).exclude(started=None).order_by("-started").first()
    if not idle or last is None or last.queue != job.queue or _with_both().exists():
        return False
    waiting = Job.objects.due().filter(queue=other).exclude(queue__in=Pause.objects.values("queue"))
    return any(idle - set(one.refusals) for one in waiting)


def _idle(queue: str, neighbours: list[Worker]) -> set[str]:
    """Return the names of workers at hand that listen to a queue and have nothing to do."""
    alive = set(Worker.objects.alive().values_list("name", flat=True))
    there = {one.name for one in neighbours if queue in one.queues and one.name in alive}
    return there - set(Job.objects.filter(state=JobState.RUNNING, worker__in=there).values_list("worker", flat=True))


def _is_somebody_before(job: Job, neighbours: list[Worker]) -> bool:
    """Whether a job that needs both devices is before this one: small jobs in turn would never leave the cores free."""
    idle = _idle(Queue.GPU, neighbours)
    if not idle:
        return False
    older = Q(created__lt=job.created) & ~Q(team=job.team_id, priority__lt=job.priority)
    first = older | Q(team=job.team_id, priority__gt=job.priority)
    waiting = _with_both().due().filter(first).exclude(queue__in=Pause.objects.values("queue"))
    return any(idle - set(one.refusals) for one in waiting)


def _with_both() -> Jobs:
    return Job.objects.filter(device_count=BOTH, state__in=(JobState.QUEUED, JobState.RUNNING))
