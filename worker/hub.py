"""Models from the Hugging Face hub: fetched once by each machine that runs them, in a process of its own, because a
download that hangs can only be ended from outside."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from decoding.errors import BadCheckpoint
from worker import leash
from worker.database import Stopped
from worker.disk import DISK_FULL, NotNow, bytes_in, tells_of_full_disk
from worker.evidence import how_it_ended
from worker.fetching import REFUSED

LOOK_EVERY = 0.1  # s
REPORT_EVERY = 1.0  # s


class Unreachable(Exception):
    """The hub does not answer from here; another machine may reach it."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model of the hub, pinned to one commit, so that every machine gets the same."""

    hub_id: str
    revision: str

    @property
    def is_pinned(self) -> bool:
        return re.fullmatch("[0-9a-f]{40}", self.revision) is not None

    @property
    def folder_name(self) -> str:
        return "hub-" + hashlib.sha256(f"{self.hub_id}@{self.revision}".encode()).hexdigest()[:32]

    def __str__(self) -> str:
        return f"{self.hub_id} at {self.revision[:12]}" if self.revision else self.hub_id


def pinned(model: HubModel, may_go_on: Callable[[], bool]) -> HubModel:
    """Pin the model to the commit that its revision names today."""
    return HubModel(model.hub_id, _run_fetcher(["commit", model.hub_id, model.revision], may_go_on, lambda: None))


def fetch(
    model: HubModel,
    folder: Path,
    may_go_on: Callable[[], bool],
    on_progress: Callable[[int, int], None] = lambda done, due: None,
) -> None:
    """Fetch the model. Call this from the main thread: the leash is tied to the one that forks."""
    with tempfile.TemporaryDirectory() as aside:
        sizes = Path(aside) / "sizes.json"  # written by the other process, once it knows

        def report() -> None:
            if sizes.exists():
                wanted: dict[str, int] = json.loads(sizes.read_text())
                on_progress(min(bytes_in(folder), sum(wanted.values())), sum(wanted.values()))

        _run_fetcher(["model", model.hub_id, model.revision, str(folder), str(sizes)], may_go_on, report)
        report()


def _run_fetcher(question: list[str], may_go_on: Callable[[], bool], report: Callable[[], None]) -> str:
    command = [sys.executable, "-P", "-m", "worker.fetching", *question]
    reported = time.monotonic()
    with subprocess.Popen(
        command, env=leash.held(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None:
            if not may_go_on():
                os.killpg(process.pid, signal.SIGKILL)
                raise Stopped
            if time.monotonic() - reported > REPORT_EVERY:
                reported = time.monotonic()
                report()
            time.sleep(LOOK_EVERY)
        assert process.stdout is not None
        output = process.stdout.read().strip()
    if process.returncode == REFUSED:
        raise BadCheckpoint(output)
    if process.returncode < 0:
        ended = how_it_ended(process.returncode)
        raise NotNow(f"{question[1]} could not be fetched: the process that fetches it was {ended}.")
    if process.returncode:
        raise NotNow(DISK_FULL) if tells_of_full_disk(output) else Unreachable(output)
    return output
