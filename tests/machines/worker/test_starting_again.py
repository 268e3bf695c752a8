"""A worker that starts again takes back its jobs, and says how it ended: whether the job can have caused that, or
something else did."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from django.db import OperationalError, connection

from tests.kit.processes import until
from webapp.jobs import ends
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from worker import evidence, leash
from worker.job_loop import JobLoop
from worker.tasks import Seeker


@pytest.fixture
def held(launch, monkeypatch) -> Job:
    """Held by a worker that announced itself and is gone."""
    launch()
    job = jobs.claim(worker="w1", queues=["cpu"])
    jobs.announce(name="w1", queues=["cpu"], devices=["cpu"], versions={}, marks=asdict(evidence.marks()))
    monkeypatch.setenv(leash.BEFORE, "-9")
    return job


@pytest.mark.parametrize(
    ("before", "told", "counts"),
    [
        ("", "w1 went down with its supervisor and", False),
        ("-9", "w1 was ended by SIGKILL and", False),
        ("-11", "w1 was ended by SIGSEGV and", True),
        (None, "w1 was ended and has started again.", False),
    ],
)
def test_it_says_how_it_ended(held, make_worker, monkeypatch, before, told, counts):
    if before is None:
        monkeypatch.delenv(leash.BEFORE)
    else:
        monkeypatch.setenv(leash.BEFORE, before)
    make_worker("w1")
    held.refresh_from_db()
    assert held.state == "queued" and held.reason.startswith(told)
    assert held.counted_ends == int(counts) == (ends.OUTSIDE not in held.reason)


def test_a_worker_that_nobody_watches_tells_by_its_note_that_it_crashed(held, engine, monkeypatch):
    monkeypatch.delenv(leash.BEFORE)
    JobLoop("w1", "cpu", has_crashed=True).past.settle()
    held.refresh_from_db()
    assert held.reason.startswith("w1 crashed and has started again.") and held.counted_ends == 1


def test_a_worker_that_starts_while_the_database_is_away_takes_its_job_back_later(held, make_worker):
    refusals = 3

    def away(execute, sql, params, many, context):
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise OperationalError("the connection was closed")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(away):
        job_loop = make_worker("w1")

    def is_given_back() -> bool:
        held.refresh_from_db()
        return held.state == "queued"

    until(is_given_back, "the job to be given back by the pulse")
    assert held.counted_ends == 0 and not job_loop.pulse.is_stopping


def test_a_worker_that_nobody_wakes_looks_on_its_own(launch, make_worker, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    launch()
    job_loop = make_worker()
    seeker = Seeker(job_loop, every_s=0.01)
    seeker.start()
    try:
        until(lambda: Job.objects.filter(finished__isnull=False).exists(), "the job to be done")
    finally:
        job_loop.stop()
        seeker.join()
    assert Job.objects.get().state == "succeeded"
