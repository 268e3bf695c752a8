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
TELL_EVERY = 1.0  # s


class Unreachable(Exception):
    """The hub does not answer from here; another machine may reach it."""


@dataclass(frozen=True, slots=True)
class Place:
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


def pinned(place: Place, may_go_on: Callable[[], bool]) -> Place:
    """Which commit that is today."""
    return Place(place.hub_id, _asked(["commit", place.hub_id, place.revision], may_go_on, lambda: None))


def fetch(
    place: Place, folder: Path, may_go_on: Callable[[], bool], told: Callable[[int, int], None] = lambda done, due: None
) -> None:
    """Call from the main thread: the leash is tied to the one that forks."""
    with tempfile.TemporaryDirectory() as aside:
        sizes = Path(aside) / "sizes.json"  # written by the other process, once it knows

        def tell() -> None:
            if sizes.exists():
                wanted: dict[str, int] = json.loads(sizes.read_text())
                told(min(bytes_in(folder), sum(wanted.values())), sum(wanted.values()))

        _asked(["model", place.hub_id, place.revision, str(folder), str(sizes)], may_go_on, tell)
        tell()


def _asked(question: list[str], may_go_on: Callable[[], bool], tell: Callable[[], None]) -> str:
    command = [sys.executable, "-P", "-m", "worker.fetching", *question]
    told = time.monotonic()
    with subprocess.Popen(
        command, env=leash.held(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.poll() is None:
            if not may_go_on():
                os.killpg(process.pid, signal.SIGKILL)
                raise Stopped
            if time.monotonic() - told > TELL_EVERY:
                told = time.monotonic()
                tell()
            time.sleep(LOOK_EVERY)
        assert process.stdout is not None
        said = process.stdout.read().strip()
    if process.returncode == REFUSED:
        raise BadCheckpoint(said)
    if process.returncode < 0:
        ended = how_it_ended(process.returncode)
        raise NotNow(f"{question[1]} could not be fetched: the process that fetches it was {ended}.")
    if process.returncode:
        raise NotNow(DISK_FULL) if tells_of_full_disk(said) else Unreachable(said)
    return said
