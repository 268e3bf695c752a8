"""Jobs that need two devices: a GPU for the target and, beside it, cores of the same machine for the draft. Such a job
begins when both are free, and while it runs nothing else begins on those cores: one would spoil the other's figures."""

from __future__ import annotations

from django.db.models import Q

from webapp.jobs.models import Job, Jobs, Pause, Queue, State, Worker

BOTH = 2


def are_free(job: Job, worker: str) -> bool:
    """Whether the job may begin here. Call it in the transaction of a claim: workers of one machine then take turns."""
    machine = Worker.objects.filter(name=worker).values_list("machine", flat=True).first()
    if not machine:
        return True
    there = Worker.objects.select_for_update().filter(machine=machine).order_by("name")
    neighbours = [one for one in there if one.name != worker]
    running = Job.objects.filter(state=State.RUNNING, worker__in=[one.name for one in neighbours])
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
    return ""


def _is_somebody_before(job: Job, neighbours: list[Worker]) -> bool:
    """Whether a job that needs both devices is before this one: small jobs in turn would never leave the cores free."""
    alive = set(Worker.objects.alive().values_list("name", flat=True))
    idle = [one.name for one in neighbours if Queue.GPU in one.queues and one.name in alive]
    busy = set(Job.objects.filter(state=State.RUNNING, worker__in=idle).values_list("worker", flat=True))
    if not set(idle) - busy:
        return False
    older = Q(created__lt=job.created) & ~Q(team=job.team_id, priority__lt=job.priority)
    first = older | Q(team=job.team_id, priority__gt=job.priority)
    waiting = _with_both().due().filter(first).exclude(queue__in=Pause.objects.values("queue"))
    return any(set(idle) - busy - set(one.refusals) for one in waiting)


def _with_both() -> Jobs:
    return Job.objects.filter(device_count=BOTH, state__in=(State.QUEUED, State.RUNNING))
