"""A machine's GPU and its cores: jobs on one take turns with jobs on the other, and a job that needs both gets both or
waits, and nobody slips in between."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from tests.kit import make
from webapp.accounts import services as accounts
from webapp.accounts.actor import of_user
from webapp.accounts.models import User
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import line, services
from webapp.jobs.models import Job, Queue


@pytest.fixture
def workers() -> None:
    """A machine with a GPU, and one without."""
    for name, queue, machine in (("gpu-1", "gpu", "here"), ("cpu-1", "cpu", "here"), ("cpu-2", "cpu", "there")):
        services.announce(name=name, queues=[queue], devices=[queue], versions={}, machine=machine)


def enqueue(by, queue, title="one", device_count=1, **options) -> Job:
    return services.enqueue(kind=COMPARISON, queue=queue, title=title, by=by, device_count=device_count, **options)


def claim(worker: str) -> Job | None:
    return services.claim(worker=worker, queues=[worker.partition("-")[0]])


def test_it_waits_until_the_cores_are_free_and_says_so(world, workers):
    bob = world.actor(world.bob)
    enqueue(bob, Queue.CPU)
    on_cores = claim("cpu-1")
    both = enqueue(bob, Queue.GPU, device_count=2)
    assert claim("gpu-1") is None
    assert line.place(both).reason.endswith(
        "needs a GPU and cores of the same machine at once, and waits until both are free."
    )
    assert line.place(both).eta_s is None
    services.succeed(job=on_cores)
    assert claim("gpu-1") == both


def test_while_it_runs_nothing_begins_on_those_cores_but_elsewhere(world, workers):
    bob = world.actor(world.bob)
    both = enqueue(bob, Queue.GPU, device_count=2)
    claim("gpu-1")
    waiting = enqueue(bob, Queue.CPU)
    assert claim("cpu-1") is None
    assert line.place(waiting).reason.endswith("Cores are kept for a job that needs them beside its GPU.")
    assert claim("cpu-2") == waiting
    later = enqueue(bob, Queue.CPU, "later")
    both.refresh_from_db()
    services.succeed(job=both)
    assert claim("cpu-1") == later


def test_jobs_that_come_later_do_not_keep_the_cores_from_it_for_ever(world, workers):
    bob = world.actor(world.bob)
    enqueue(bob, Queue.CPU)
    on_cores = claim("cpu-1")
    both = enqueue(bob, Queue.GPU, device_count=2)
    enqueue(bob, Queue.CPU, "later")
    services.succeed(job=on_cores)
    assert claim("cpu-1") is None
    assert claim("gpu-1") == both


def test_what_came_before_it_or_is_more_urgent_goes_first(world, workers):
    bob = world.actor(world.bob)
    before = enqueue(bob, Queue.CPU, "before")
    enqueue(bob, Queue.GPU, device_count=2)
    assert claim("cpu-1") == before
    services.succeed(job=Job.objects.get(pk=before.pk, state="running"))
    urgent = enqueue(world.actor(world.alice), Queue.CPU, "urgent", priority=5)
    assert claim("cpu-1") == urgent


@pytest.mark.parametrize("why", ["paused", "busy", "gone", "refused"])
def test_cores_are_not_kept_for_one_that_cannot_begin_anyway(world, workers, settings, why):
    bob = world.actor(world.bob)
    settings.MEASURE_AT_ONCE = why == "busy"
    if why == "busy":
        enqueue(bob, Queue.GPU)
        claim("gpu-1")
    both = enqueue(bob, Queue.GPU, device_count=2)
    if why == "paused":
        User.objects.filter(pk=world.alice.pk).update(is_operator=True)
        world.alice.refresh_from_db()
        services.pause(queue=Queue.GPU, reason="", by=world.actor(world.alice))
    if why == "gone":
        make.gone("gpu-1")
    if why == "refused":
        Job.objects.filter(pk=both.pk).update(refusals={"gpu-1": "It has no memory."})
    later = enqueue(bob, Queue.CPU, "later")
    assert claim("cpu-1") == later


def end(job: Job) -> None:
    assert services.succeed(job=Job.objects.get(pk=job.pk))


def test_jobs_on_the_gpu_and_on_the_cores_of_one_machine_take_turns(world, workers):
    """Also where one queue is never empty: the other one's turn is next."""
    bob = world.actor(world.bob)
    on_gpu = [enqueue(bob, Queue.GPU, str(number)) for number in range(2)]
    on_cores = [enqueue(bob, Queue.CPU, str(number)) for number in range(2)]
    assert claim("gpu-1") == on_gpu[0]
    assert claim("cpu-1") is None
    assert claim("cpu-2") == on_cores[0]  # on another machine
    assert "takes turns with a job of `gpu` on the same machine" in line.place(on_cores[1]).reason
    end(on_gpu[0])
    assert claim("gpu-1") is None
    assert claim("cpu-1") == on_cores[1]
    end(on_cores[1])
    assert claim("gpu-1") == on_gpu[1]


def test_an_operator_may_let_both_measure_at_once(world, workers, settings):
    settings.MEASURE_AT_ONCE = True
    bob = world.actor(world.bob)
    jobs = [enqueue(bob, queue) for queue in (Queue.CPU, Queue.GPU)]
    assert [claim("cpu-1"), claim("gpu-1")] == jobs


@pytest.mark.parametrize(
    ("queue", "strategy", "count"),
    [
        ("gpu", {"strategy": "ssd", "params": {"placement": "beside"}}, 2),
        ("gpu", {"strategy": "ssd"}, 1),
        ("gpu", {"strategy": "ssd", "params": {"placement": "in-turn"}}, 1),
        ("gpu", {"strategy": "static"}, 1),
        ("cpu", {"strategy": "ssd"}, 1),
    ],
)
def test_ssd_beside_a_gpu_is_such_a_job(world, by, queue, strategy, count):
    body = make.body(make.pair(by), make.dataset(by), strategies=[strategy], queue=queue)
    assert world.script("submit").post("/api/v1/comparisons/", body).status_code == 202
    assert Job.objects.get(kind=COMPARISON.slug).device_count == count


@pytest.mark.django_db(transaction=True)
def test_of_two_who_claim_at_once_only_one_gets_the_cores():
    alice = User.objects.create(username="alice")
    accounts.create_team(name="lab", by=alice)
    for name, queue in (("gpu-1", "gpu"), ("cpu-1", "cpu")):
        services.announce(name=name, queues=[queue], devices=[queue], versions={}, machine="here")
    together = threading.Barrier(2)
    claimed: dict[str, Job | None] = {}

    def look(name: str) -> None:
        together.wait()
        claimed[name] = claim(name)
        connection.close()

    for number in range(20):
        Job.objects.all().delete()
        first, second = ((Queue.CPU, 1), (Queue.GPU, 2)) if number % 2 else ((Queue.GPU, 2), (Queue.CPU, 1))
        for queue, count in (first, second):
            enqueue(of_user(alice), queue, device_count=count)
        racers = [threading.Thread(target=look, args=(name,)) for name in ("gpu-1", "cpu-1")]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert sum(job is not None for job in claimed.values()) == 1
