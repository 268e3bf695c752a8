"""A worker in a process of its own, on the tests' database, that can be killed with SIGKILL half-way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from tests.kit.processes import state, until
from worker import gauges

ROOT = Path(__file__).parents[3]
NAME = "w1"
WORKER = f"""
import json, sys
from webapp.config import settings as ours
ours.DATABASES["default"].update(json.loads(sys.argv[1]))
import django; django.setup()
from worker.job_loop import JobLoop

worker = JobLoop({NAME!r}, "cpu")
worker.begin()
worker.look()
"""


class Killable:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        """Kill it, and wait until its engine is gone too."""
        family = gauges.family(self._process.pid)
        self._process.kill()
        self._process.wait()
        until(lambda: not any(map(state, family)), "the end of its engine")


@contextmanager
def killable_worker(**environment: str) -> Iterator[Killable]:
    there = json.dumps({"NAME": str(connection.settings_dict["NAME"])})
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, there],
        cwd=ROOT,
        env={**os.environ, "DRAFTHOUSE_DATA": str(settings.DATA_DIR), **environment},
    ) as process:
        try:
            yield Killable(process)
        finally:
            process.kill()
