"""Ends of attempts: which of them count against a job, and how long the next attempt waits
(docs/decisions/0028-which-attempts-count.md). A worker that cannot do a job at all gives it back with the reason."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.comparisons.kinds import COMPARISON
from webapp.core.problems import Conflict
from webapp.jobs import ends, line, services
from webapp.jobs.models import Job, JobEvent, Queue


@pytest.fixture
def job(by) -> Job:
    return services.enqueue(kind=COMPARISON, queue=Queue.CPU, title="one", by=by)


def claim(worker="w1") -> Job:
    make.waited()
    claimed = services.claim(worker=worker, queues=["cpu"])
    assert claimed is not None
    return claimed


def end(*, counts: bool, at: str = "") -> str:
    """End an attempt in this way and return the state of the job afterwards."""
    claimed = claim()
    if at:
        services.reached(job=claimed, place=at)
    services.give_back(job=claimed, reason="It ended.", counts=counts)
    return Job.objects.get().state


def log() -> str:
    return JobEvent.objects.order_by("seq").values_list("sentence", flat=True).last()


def test_ends_from_outside_never_add_up_and_each_attempt_of_a_storm_waits_longer(job, by):
    waits = []
    for _ in range(20):
        assert end(counts=False) == "queued"
        job.refresh_from_db()
        waits.append(ends.wait_s(job.setbacks))
    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, *[120] * 12]
    assert (job.attempt, job.counted_ends) == (20, 0) and log() == f"It ended. {ends.OUTSIDE}"
    assert services.claim(worker="w1", queues=["cpu"]) is None
    assert "A worker tries again in about 2 min." in line.place(job).reason
    other = services.enqueue(kind=COMPARISON, queue=Queue.CPU, title="two", by=by)
    assert services.claim(worker="w1", queues=["cpu"]) == other, "it holds nobody up"
    make.waited()
    assert services.claim(worker="w1", queues=["cpu"]) == job


def test_the_third_end_that_the_job_can_have_caused_at_one_place_is_the_last(job):
    at = "static:3 on prompt 4"
    assert end(counts=True, at=at) == "queued"
    assert log() == f"It ended. This counts against the job: 1 of 3 at {at}."
    assert end(counts=False, at=at) == end(counts=True, at=at) == "queued"
    services.release(job=claim())  # a worker that goes home changes no count
    assert end(counts=True, at=at) == "failed"
    job.refresh_from_db()
    assert job.reason.startswith(f"It ended. The job ended 3 times like this at {at} without progress")


def test_ends_at_different_places_do_not_add_up_but_are_not_endless(job):
    for at in ("a", "b", "a", "c", "b", "c"):
        assert end(counts=True, at=at) == "queued"
    states = [end(counts=True, at=str(number)) for number in range(ends.ANYWHERE - 6)]
    assert states == ["queued"] * (ends.ANYWHERE - 7) + ["failed"]
    assert "at several places" in Job.objects.get().reason


def test_progress_and_trying_again_by_hand_begin_the_count_anew(job, world):
    for done in range(1, 6):
        assert end(counts=True) == "queued"
        claimed = claim()
        assert services.progressed(job=claimed, done=done)
        services.give_back(job=claimed, reason="It ended.", counts=True)
    job.refresh_from_db()
    assert (job.state, job.counted_ends, job.setbacks, job.done_count) == ("queued", 1, 1, 5)
    assert [end(counts=True), end(counts=True)] == ["queued", "failed"]
    services.retry(job=Job.objects.get(), by=world.actor(world.alice))
    job.refresh_from_db()
    assert (job.state, job.attempt, job.counted_ends, job.setbacks, job.not_before) == ("queued", 0, 0, 0, None)
    with pytest.raises(Conflict, match="only a failed or cancelled"):
        services.retry(job=job, by=world.actor(world.bob))


def test_silence_counts_until_the_worker_is_there_again_and_tells(job):
    for _ in range(2):
        claim()
        make.silence()
    job.refresh_from_db()
    assert job.counted_ends == 2 and "This counts against the job: 2 of 3 at its start." in job.reason
    services.take_back(worker="w2", ended="was ended.", counts=False)
    assert Job.objects.get().counted_ends == 2, "it knows nothing of w1"
    services.take_back(worker="w1", ended="was ended by SIGSEGV.", counts=True)
    assert Job.objects.get().counted_ends == 2, "its job may have ended it"
    services.take_back(worker="w1", ended="was ended.", counts=False)
    assert Job.objects.get().counted_ends == 0
    assert log() == f"w1 is there again. {ends.OUTSIDE}"


NO_MEMORY = "It needs 30.0 GiB, and cpu has 12.0 GiB free."


def listen(*names: str, queue: str = "cpu") -> None:
    for name in names:
        services.register_worker(name=name, queues=[queue], devices=[queue], versions={})


def claimed_by(worker: str) -> Job | None:
    return services.claim(worker=worker, queues=["cpu"])


def test_of_many_that_may_be_able_to_one_is_named(job):
    listen(*"abcde")
    assert services.refuse(job=claimed_by("a"), reason=NO_MEMORY)
    job.refresh_from_db()
    assert job.reason.endswith(f"{NO_MEMORY} b or one of 3 others may be able to.")


def test_what_one_worker_cannot_do_another_gets_and_the_first_only_once_it_starts_anew(job):
    listen("small", "large")
    assert services.refuse(job=claimed_by("small"), reason=NO_MEMORY)
    job.refresh_from_db()
    assert (job.state, job.counted_ends, job.setbacks) == ("queued", 0, 0), "a refusal is no attempt"
    assert job.reason == f"small cannot do it: {NO_MEMORY} large may be able to."
    assert job.reason in line.place(job).reason
    assert claimed_by("small") is None
    make.gone("large")
    assert line.place(Job.objects.get()).reason.startswith("No worker at hand can do it. small: It needs 30.0 GiB")
    services.take_back(worker="small", ended="was ended.", counts=False)
    assert claimed_by("small") == job


def test_a_job_that_nobody_at_hand_can_do_fails_at_once_and_says_why_each_could_not(job, world):
    listen("a", "b")
    listen("gpu-1", queue="gpu")
    services.refuse(job=claimed_by("a"), reason=NO_MEMORY)
    services.refuse(job=claimed_by("b"), reason="It has no such folder.")
    job.refresh_from_db()
    assert job.state == "failed"
    assert f"a: {NO_MEMORY}" in job.reason and "b: It has no such folder." in job.reason
    assert job.reason.endswith("Start a worker that can, and try again.")
    services.retry(job=job, by=world.actor(world.bob))
    assert claimed_by("a") == job
