"""A full disk puts a job back until there is room; it fails no job. Counting bytes fails for no file that goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.comparisons.kinds import COMPARISON
from webapp.jobs.models import Job
from worker.disk import tells_of_full_disk

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_job_that_meets_a_full_disk_is_put_back_and_tried_again(launch, make_worker):
    launch()
    worker = make_worker("w1")
    worker.works[COMPARISON.slug] = lambda attempt: FULL.write_text("no room")
    worker.look()
    job = Job.objects.get()
    assert job.state == "queued" and job.not_before is not None
    assert job.counted_ends == 0
    assert "w1: The disk of its machine is full. Make room there" in job.reason


def test_an_engine_that_tells_of_a_full_disk_in_words_is_understood():
    assert tells_of_full_disk("The engine met an error of its own: OSError: [Errno 28] No space left on device")
    assert not tells_of_full_disk("The engine met an error of its own: OSError: [Errno 5] Input/output error")
