"""A machine's GPU and its cores: jobs on one take turns with jobs on the other, and a job that needs both gets both or
waits, and nobody slips in between."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import line, services
from webapp.jobs.models import Job, Pause, Queue


@pytest.fixture
def workers() -> None:
    """A machine with two GPUs, and one without."""
    for name, machine in (("gpu-1", "here"), ("gpu-2", "here"), ("cpu-1", "here"), ("cpu-2", "there")):
        queue = name.partition("-")[0]
        services.register_worker(name=name, queues=[queue], devices=[queue], versions={}, machine=machine)


def enqueue(by, queue, title="one", device_count=1, **options) -> Job:
    return services.enqueue(kind=COMPARISON, queue=queue, title=title, by=by, device_count=device_count, **options)


def claim(worker: str) -> Job | None:
    return services.claim(worker=worker, queues=[worker.partition("-")[0]])


def end(job: Job) -> None:
    assert services.succeed(job=Job.objects.get(pk=job.pk))


def test_jobs_on_the_gpu_and_on_the_cores_of_one_machine_take_turns(by, workers):
    """Also where one queue is never empty: the other one's turn is next."""
    on_gpu = [enqueue(by, Queue.GPU, str(number)) for number in range(2)]
    on_cores = [enqueue(by, Queue.CPU, str(number)) for number in range(2)]
    assert claim("gpu-1") == on_gpu[0]
    assert claim("cpu-1") is None
    assert claim("cpu-2") == on_cores[0]  # on another machine
    assert "takes turns with a job of `gpu` on the same machine" in line.place(on_cores[1]).reason
    end(on_gpu[0])
    assert claim("gpu-1") is None
    assert claim("cpu-1") == on_cores[1]
    end(on_cores[1])
    assert claim("gpu-1") == on_gpu[1]


def test_a_job_that_needs_both_waits_for_both_and_says_so(by, workers):
    enqueue(by, Queue.CPU)
    on_cores = claim("cpu-1")
    both, second = (enqueue(by, Queue.GPU, title, device_count=2) for title in ("both", "second"))
    assert claim("gpu-1") is None
    assert line.place(both).reason.endswith("at once, and waits until both are free.")
    end(on_cores)
    assert claim("gpu-1") == both
    assert claim("gpu-2") is None, "no two of these run at once"
    waiting = enqueue(by, Queue.CPU)
    assert claim("cpu-1") is None and claim("cpu-2") == waiting
    end(both)
    assert claim("gpu-1") == second


@pytest.mark.parametrize("why", ["paused", "gone", "refused"])
def test_nobody_waits_for_the_turn_of_a_job_that_cannot_begin_anyway(by, workers, why):
    enqueue(by, Queue.CPU)
    end(claim("cpu-1"))
    waiting, later = enqueue(by, Queue.GPU), enqueue(by, Queue.CPU, "later")
    assert claim("cpu-1") is None
    if why == "paused":
        Pause.objects.create(queue=Queue.GPU)
    for name in ("gpu-1", "gpu-2") if why == "gone" else ():
        make.gone(name)
    if why == "refused":
        Job.objects.filter(pk=waiting.pk).update(refusals={"gpu-1": "It has no memory.", "gpu-2": "Nor has it."})
    assert claim("cpu-1") == later


@pytest.mark.parametrize(
    ("queue", "strategy", "count"),
    [
        ("gpu", {"strategy": "ssd", "params": {"placement": "beside"}}, 2),
        ("gpu", {"strategy": "ssd"}, 1),
        ("cpu", {"strategy": "ssd", "params": {"placement": "beside"}}, 1),
    ],
)
def test_ssd_beside_a_gpu_is_such_a_job(world, by, queue, strategy, count):
    body = make.body(make.pair(by), make.dataset(by), strategies=[strategy], queue=queue)
    assert world.script("submit").post("/api/v1/comparisons/", body).status_code == 202
    assert Job.objects.get(kind=COMPARISON.slug).device_count == count
