"""A worker that starts again takes back its jobs, and says how it ended: whether the job can have caused that, or
something else did. It reads that from how the process ended, and from what the machine counted meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import asdict

import pytest
from django.db import OperationalError, connection

from tests.kit.processes import until
from webapp.jobs import ends
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from worker import evidence, leash
from worker.evidence import Marks, job_may_have_ended_it
from worker.job_loop import JobLoop
from worker.leash import ROOT
from worker.tasks import Seeker


@pytest.fixture
def held(launch, monkeypatch) -> Job:
    """Held by a worker that announced itself and is gone."""
    launch()
    job = jobs.claim(worker="w1", queues=["cpu"])
    jobs.register_worker(name="w1", queues=["cpu"], devices=["cpu"], versions={}, marks=asdict(evidence.marks()))
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


QUIET = Marks("boot-1", oom_kills=2)


ENDS = {
    "killed, and memory was there": (-signal.SIGKILL, QUIET, False),
    "nobody saw it": (None, QUIET, False),
    "killed for lack of memory": (-signal.SIGKILL, Marks("boot-1", oom_kills=3), True),
    "nobody saw it, and memory ran out": (None, Marks("boot-1", oom_kills=3), True),
    "went home while memory ran out": (0, Marks("boot-1", oom_kills=3), False),
    "crashed": (-signal.SIGSEGV, QUIET, True),
    "an error": (1, QUIET, True),
    "the machine went down": (None, Marks("boot-2", oom_kills=0), True),
    "killed where nobody counts": (-signal.SIGKILL, Marks("boot-1", oom_kills=None), True),
}


@pytest.mark.parametrize(("code", "now", "may_have"), ENDS.values(), ids=ENDS)
def test_only_what_the_job_can_have_caused_may_be_its_doing(code, now, may_have):
    assert job_may_have_ended_it(code, QUIET, now) is may_have
    assert job_may_have_ended_it(-signal.SIGKILL, Marks("boot-1", 2, is_short=True), now)


def test_a_process_that_crashes_leaves_a_note_for_the_next_and_one_that_is_killed_does_not(tmp_path):
    def left_after(deed: str) -> str:
        """Return the evidence that the next process finds."""
        path = tmp_path / "w1.crash"
        begin = (
            "import os, pathlib, sys; from worker.evidence import CrashNote; n = CrashNote(pathlib.Path(sys.argv[1]))"
        )
        for code in (f"{begin}; {deed}", f"{begin}; print(n.left)"):
            done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    assert "Fatal Python error: Aborted" in left_after("os.abort()")
    assert left_after("os.kill(os.getpid(), 9)") == ""
