"""A worker that cannot do a job at all gives it back with the reason. The job then says which workers could do it, or
that none could."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import line, services
from webapp.jobs.models import Job, Queue

NO_MEMORY = "It needs 30.0 GiB, and cpu has 12.0 GiB free."


@pytest.fixture
def job(by) -> Job:
    return services.enqueue(kind=COMPARISON, queue=Queue.CPU, title="one", by=by)


def listen(*names: str, queue: str = "cpu") -> None:
    for name in names:
        services.announce(name=name, queues=[queue], devices=[queue], versions={})


def claim(worker: str) -> Job | None:
    return services.claim(worker=worker, queues=["cpu"])


def test_what_one_worker_cannot_do_another_gets_and_the_first_only_once_it_starts_anew(job):
    listen("small", "large")
    assert services.refuse(job=claim("small"), reason=NO_MEMORY)
    job.refresh_from_db()
    assert (job.state, job.counted_ends, job.setbacks) == ("queued", 0, 0), "a refusal is no attempt"
    assert job.reason == f"small cannot do it: {NO_MEMORY} large may be able to."
    assert job.reason in line.place(job).reason
    assert claim("small") is None
    make.gone("large")
    assert line.place(Job.objects.get()).reason.startswith("No worker at hand can do it. small: It needs 30.0 GiB")
    services.take_back(worker="small", ended="was ended.", counts=False)
    assert claim("small") == job


def test_a_job_that_nobody_at_hand_can_do_fails_at_once_and_says_why_each_could_not(job, world):
    listen("a", "b")
    listen("gpu-1", queue="gpu")
    services.refuse(job=claim("a"), reason=NO_MEMORY)
    services.refuse(job=claim("b"), reason="It has no such folder.")
    job.refresh_from_db()
    assert job.state == "failed"
    assert f"a: {NO_MEMORY}" in job.reason and "b: It has no such folder." in job.reason
    assert job.reason.endswith("Start a worker that can, and try again.")
    services.retry(job=job, by=world.actor(world.bob))
    assert claim("a") == job


def test_a_worker_that_lost_its_lease_refuses_nothing(job):
    listen("small", "large")
    old = claim("small")
    assert make.silence() == 1
    claim("large")
    assert not services.refuse(job=old, reason=NO_MEMORY)
    assert Job.objects.get().refusals == {}
