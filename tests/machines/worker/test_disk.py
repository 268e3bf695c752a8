"""A full disk puts a job back until there is room; it fails no job. Counting bytes fails for no file that goes."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from webapp.comparisons.kinds import COMPARISON
from webapp.jobs.models import Job
from worker.disk import bytes_in, tells_of_full_disk

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")


@needs_full
def test_a_job_that_meets_a_full_disk_is_put_back_and_tried_again(launch, make_worker):
    launch()
    worker = make_worker("w1")
    worker.works[COMPARISON.slug] = lambda attempt: FULL.write_text("no room")
    worker.look()
    job = Job.objects.get()
    assert job.state == "queued" and job.not_before is not None
    assert job.counted_ends == 0
    assert "w1: The disk of its machine is full. Make room there" in job.reason


@needs_full
def test_an_engine_that_tells_of_a_full_disk_in_words_is_understood():
    with pytest.raises(OSError) as caught:
        FULL.write_text("no room")
    assert tells_of_full_disk(f"The engine met an error of its own: OSError: {caught.value}")
    assert not tells_of_full_disk("The engine met an error of its own: OSError: [Errno 5] Input/output error")


def test_files_that_go_while_they_are_counted_count_nothing(tmp_path, monkeypatch):
    """A download moves its files into place and removes its notes while somebody asks how much has come."""
    (tmp_path / ".cache").mkdir()
    for name in (".cache/notes", "going", "staying"):
        (tmp_path / name).write_bytes(b"12345")
    assert bytes_in(tmp_path) == 15
    look = os.scandir

    def look_while_they_go(path):
        if str(path).endswith(".cache"):
            shutil.rmtree(path)
        found = Listing(iter([*look(path)]))
        (tmp_path / "going").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os, "scandir", look_while_they_go)
    assert bytes_in(tmp_path) == 5


class Listing(nullcontext):
    """A folder's entries as they were, however it changes."""

    def __next__(self):
        return next(self.enter_result)
