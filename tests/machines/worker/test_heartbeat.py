"""Containers ask a file whether worker and scheduler reach the database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from webapp.core.outage import Outage
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Worker
from worker import heartbeat, scheduler

ROOT = Path(__file__).parents[3]


def test_worker_and_scheduler_are_healthy_while_they_reach_the_database(
    tmp_path: Path, monkeypatch, transactional_db, make_worker
):
    path = tmp_path / "heartbeat"
    monkeypatch.setenv(heartbeat.FILE, str(path))
    assert "has not reached the database since it started" in heartbeat.trouble(str(path))
    make_worker()
    assert heartbeat.trouble(str(path)) == ""
    path.unlink()
    scheduler.look(Reaper(), Outage("the database", scheduler.logger, meanwhile="the test waits"))
    assert heartbeat.trouble(str(path)) == ""
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    check = [sys.executable, "-m", "worker.heartbeat"]  # as a container runs it
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "This process last reached the database" in done.stderr
    assert Worker.SILENCE.total_seconds() == heartbeat.LONGEST_SILENCE, "the queue counts it as gone just then"
