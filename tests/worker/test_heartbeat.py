"""Containers ask a file whether worker and scheduler reach the database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.conftest import until
from webapp.core.outage import Outage
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Worker
from worker import heartbeat, scheduler

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "heartbeat"
    monkeypatch.setenv(heartbeat.FILE, str(path))
    return path


def checked() -> subprocess.CompletedProcess[str]:
    """The health check as a container runs it."""
    return subprocess.run([sys.executable, "-m", "worker.heartbeat"], cwd=ROOT, capture_output=True, text=True)


def test_a_worker_is_healthy_once_the_database_knows_it(path, transactional_db, make_worker):
    assert "has not reached the database since it started" in checked().stderr
    make_worker()
    assert checked().returncode == 0
    assert Worker.objects.alive().exists()


def test_the_scheduler_is_healthy_after_a_look(path, transactional_db):
    scheduler.look(Reaper(), 0, Outage("the database", scheduler.logger, meanwhile="the test waits"))
    assert checked().returncode == 0


def test_a_process_that_no_longer_reaches_the_database_is_unhealthy(path):
    heartbeat.beat()
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    result = checked()
    assert result.returncode == 1
    assert "last reached the database 6" in result.stderr


def test_a_scheduler_without_a_database_never_becomes_healthy(path, tmp_path):
    log = tmp_path / "log"
    env = {
        **os.environ,
        "DATABASE_URL": "postgres://nobody:x@127.0.0.1:9/none",
        "DRAFTHOUSE_DATA": str(tmp_path / "data"),
    }
    command = [sys.executable, "-m", "worker.scheduler"]
    with log.open("w") as said, subprocess.Popen(command, cwd=ROOT, env=env, stderr=said) as process:
        until(lambda: "does not answer" in log.read_text(), "the scheduler to look in vain")
        process.terminate()
    assert not path.exists()


def test_the_queue_and_the_health_check_agree_on_who_is_gone():
    assert Worker.SILENCE.total_seconds() == heartbeat.LONGEST_SILENCE
