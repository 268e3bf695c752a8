"""The scheduler sweeps once an hour, whoever starts it again, and survives a store that is away. Containers ask a file
whether it and the workers reach the database."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F

from webapp.core.models import Fact
from webapp.core.outage import Outage
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Worker
from worker import heartbeat, scheduler


def look() -> None:
    """Look as a scheduler does that has just started."""
    scheduler.look(Reaper(), Outage("the database", scheduler.logger, meanwhile="the test waits"))


@pytest.fixture
def leave(settings):
    """Leave a file that a client sent days ago and never asked for again."""

    def leave_one(name: str) -> Path:
        path = Path(settings.DATA_DIR) / "chunks" / "incoming" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))
        return path

    return leave_one


def test_schedulers_that_start_again_and_again_sweep_once_an_hour(transactional_db, leave):
    first = leave("first")
    look()
    assert not first.exists()
    second = leave("second")
    look()
    assert second.exists()
    Fact.objects.filter(name=scheduler.SWEPT).update(at=F("at") - timedelta(minutes=61))
    look()
    assert not second.exists()


def test_a_store_that_is_away_stops_the_sweep_alone(transactional_db, settings, caplog):
    settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", "http://127.0.0.1:1"
    look()
    assert "The store cannot be swept (The object store does not answer" in caplog.text
    assert "until it does" not in caplog.text, "the database was blamed"


ROOT = Path(__file__).parents[3]


def test_worker_and_scheduler_are_healthy_while_they_reach_the_database(
    tmp_path: Path, monkeypatch, transactional_db, make_worker
):
    path = tmp_path / "heartbeat"
    monkeypatch.setenv(heartbeat.FILE, str(path))
    assert "has not reached the database since it started" in heartbeat.trouble(str(path))
    worker = make_worker()
    assert heartbeat.trouble(str(path)) == ""
    worker.stop()
    worker.pulse.join()  # else it would touch the file once more
    path.unlink()
    scheduler.look(Reaper(), Outage("the database", scheduler.logger, meanwhile="the test waits"))
    assert heartbeat.trouble(str(path)) == ""
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    check = [sys.executable, "-m", "worker.heartbeat"]  # as a container runs it
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "This process last reached the database" in done.stderr
    assert Worker.SILENCE.total_seconds() == heartbeat.LONGEST_SILENCE, "the queue counts it as gone just then"
