"""One data folder, one supervisor. The lock dies with its holder, so nothing is ever left to clean up."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import datetime
from pathlib import Path

from webapp.core import modes


class Taken(Exception):
    """Someone else has what we need; the message says who."""


class DataFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=modes.FOLDER)
        self.was_open = modes.tighten(path, modes.FOLDER)  # to others than its owner
        self._lock = os.open(path / "drafthouse.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken(self._by_whom()) from None
        self.tell("")

    def tell(self, address: str) -> None:
        """Leave word for whoever comes second."""
        word = {"pid": os.getpid(), "since": f"{datetime.now():%H:%M on %d %B}", "address": address}
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, json.dumps(word).encode(), 0)

    def _by_whom(self) -> str:
        try:
            holder = json.loads(os.pread(self._lock, 4096, 0))
        except ValueError:
            return f"Another Drafthouse is starting in {self.path}."
        serves = f" and serves {holder['address']}" if holder["address"] else ""
        return (
            f"Drafthouse runs in {self.path} already: process {holder['pid']} has it since {holder['since']}{serves}. "
            "Use that one, stop it with Ctrl-C, or give another folder with --data."
        )
