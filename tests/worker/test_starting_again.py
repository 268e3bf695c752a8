"""A worker that starts again takes back what it held, and says how it had ended: whether that may have been the job's
doing, or went down with everything else."""

from __future__ import annotations

import pytest

from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from worker import leash


@pytest.mark.parametrize(
    ("before", "told", "is_spared"),
    [
        ("", "w1 went down with its supervisor and has started again.", True),
        ("ended by SIGSEGV", "w1 was ended by SIGSEGV and has started again.", False),
        (None, "w1 was ended and has started again.", False),
    ],
    ids=["its supervisor's first", "not its first", "without a supervisor"],
)
def test_it_says_how_it_ended(launch, make_worker, monkeypatch, before, told, is_spared):
    launch()
    jobs.claim(worker="w1", queues=["cpu"])
    if before is None:
        monkeypatch.delenv(leash.BEFORE, raising=False)
    else:
        monkeypatch.setenv(leash.BEFORE, before)
    make_worker("w1")
    job = Job.objects.get()
    assert (job.state, job.reason) == ("queued", told)
    assert job.attempt_limit - job.attempt == (jobs.TRIES if is_spared else jobs.TRIES - 1)
