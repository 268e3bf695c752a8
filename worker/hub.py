"""Models from the Hugging Face hub: fetched once by each machine that runs them, in a process of its own, because a
download that hangs can only be ended from outside."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from decoding.errors import BadCheckpoint
from worker import leash
from worker.database import Stopped
from worker.fetching import REFUSED

LOOK_EVERY = 0.1  # s


class Unreachable(Exception):
    """The hub does not answer from here; another machine may reach it."""


def fetched(hub_id: str, revision: str, models: Path, may_go_on: Callable[[], bool]) -> Path:
    name = hashlib.sha256(f"{hub_id}@{revision}".encode()).hexdigest()[:32]
    folder = models / f"hub-{name}"
    if folder.exists():
        return folder
    models.mkdir(exist_ok=True)
    growing = Path(tempfile.mkdtemp(dir=models, prefix="growing-"))
    try:
        _fetch(hub_id, revision, growing, may_go_on)
        growing.rename(folder)  # whole or not at all
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return folder


def _fetch(hub_id: str, revision: str, folder: Path, may_go_on: Callable[[], bool]) -> None:
    """Call from the main thread: the leash is tied to the one that forks."""
    command = [sys.executable, "-P", "-m", "worker.fetching", hub_id, revision, str(folder)]
    with subprocess.Popen(
        command, env=leash.held(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None:
            if not may_go_on():
                os.killpg(process.pid, signal.SIGKILL)
                raise Stopped
            time.sleep(LOOK_EVERY)
        assert process.stdout is not None
        said = process.stdout.read().strip()
    if process.returncode == REFUSED:
        raise BadCheckpoint(said)
    if process.returncode:
        raise Unreachable(said or f"{hub_id} could not be fetched: the process that should have was ended.")
