"""Containers ask a file whether worker and scheduler reach the database."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.core.outage import Outage
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Worker
from worker import heartbeat, scheduler

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "heartbeat"
    monkeypatch.setenv(heartbeat.FILE, str(path))
    return path


CHECK = [sys.executable, "-m", "worker.heartbeat"]  # as a container runs it


def checked() -> subprocess.CompletedProcess[str]:
    return subprocess.run(CHECK, cwd=ROOT, capture_output=True, text=True)


def test_a_worker_is_healthy_once_the_database_knows_it(path, transactional_db, make_worker):
    assert "has not reached the database since it started" in checked().stderr
    make_worker()
    assert checked().returncode == 0
    assert Worker.objects.alive().exists()


def test_the_scheduler_is_healthy_while_it_looks(path, transactional_db):
    """It looks until the check has ended, which may take long to start."""
    outage = Outage("the database", scheduler.logger, meanwhile="the test waits")
    scheduler.look(Reaper(), outage)
    with subprocess.Popen(CHECK, cwd=ROOT) as check:
        while check.poll() is None:
            scheduler.look(Reaper(), outage)
    assert check.returncode == 0


def test_a_process_that_no_longer_reaches_the_database_is_unhealthy(path):
    heartbeat.beat()
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    result = checked()
    assert result.returncode == 1
    [age] = re.findall(r"last reached the database (\d+) s ago", result.stderr)
    assert int(age) >= 60
    assert Worker.SILENCE.total_seconds() == heartbeat.LONGEST_SILENCE, "the queue counts it as gone just then"
