"""Devices of one machine, whose jobs would spoil each other's figures.

Jobs on the GPU and on the cores of one machine take turns: the loop that feeds a GPU needs a core. A job may need two
devices: a GPU for the target and, beside it, cores of the same machine for the draft. No two of these run at once."""

from __future__ import annotations

from webapp.jobs.models import Job, Jobs, JobState, Pause, Queue, Worker

BOTH = 2
OTHER = {Queue.CPU: Queue.GPU, Queue.GPU: Queue.CPU}  # queues whose jobs measure


def are_free(job: Job, worker: str) -> bool:
    """Whether the job may begin here. Call it in the transaction of a claim: workers of one machine then take turns."""
    machine = Worker.objects.filter(name=worker).values_list("machine", flat=True).first()
    other = OTHER.get(Queue(job.queue))
    if not machine or other is None:
        return True
    there = list(Worker.objects.select_for_update().filter(machine=machine).order_by("name"))
    running = Job.objects.filter(state=JobState.RUNNING, worker__in=[one.name for one in there])
    if running.filter(queue=other).exists():
        return False
    if job.device_count == BOTH and running.filter(device_count=BOTH).exists():
        return False
    return not _is_turn_of(other, there)


def why_not(job: Job) -> str:
    """Sentence for a job that waits although a worker of its queue is idle."""
    if job.device_count == BOTH:
        return " It needs a GPU and cores of the same machine at once, and waits until both are free."
    if (other := OTHER.get(Queue(job.queue))) and _is_taken(job.queue, other):
        return f" It takes turns with a job of `{other}` on the same machine: each would spoil the other's figures."
    return ""


def _is_taken(queue: str, other: str) -> bool:
    """Whether a job of the other queue runs on every machine where a worker of this queue is idle."""
    workers = list(Worker.objects.all())
    machine_of = {one.name: one.machine for one in workers}
    idle = {machine_of[name] for name in _idle(queue, workers)}
    running = Job.objects.filter(state=JobState.RUNNING, queue=other).values_list("worker", flat=True)
    return bool(idle) and idle <= {machine_of.get(name) for name in running} - {""}


def _is_turn_of(queue: str, there: list[Worker]) -> bool:
    """Whether a job of this queue could begin on this machine, and one of the other queue was the last there."""
    names = [one.name for one in there]
    last = Job.objects.filter(worker__in=names, queue__in=OTHER).exclude(started=None).order_by("-started").first()
    if last is None or last.queue == queue:
        return False
    idle = _idle(queue, there)
    waiting: Jobs = Job.objects.due().filter(queue=queue).exclude(queue__in=Pause.objects.values("queue"))
    return any(idle - set(one.refusals) for one in waiting)


def _idle(queue: str, workers: list[Worker]) -> set[str]:
    """Return the names of those workers that listen to a queue and have nothing to do."""
    alive = set(Worker.objects.alive().values_list("name", flat=True))
    there = {one.name for one in workers if queue in one.queues and one.name in alive}
    return there - set(Job.objects.filter(state=JobState.RUNNING, worker__in=there).values_list("worker", flat=True))
