"""One data folder, one supervisor. The lock dies with its holder, so nothing is ever left to clean up."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from datetime import datetime
from pathlib import Path

from webapp.core import modes
from webapp.core.disk import not_writable

ROOT = Path(__file__).resolve().parents[2]


class Taken(Exception):
    """Someone else has what we need; the message says who."""


def default_folder() -> Path:
    return Path(os.environ.get("DRAFTHOUSE_DATA") or ROOT / "data")


def folder(given: Path | None) -> Path:
    return (given or default_folder()).expanduser().resolve()


def set_up(given: Path | None) -> None:
    """Make Django ready for a data folder in which a Drafthouse was started, or for the database that is set."""
    data = folder(given)
    os.environ["DRAFTHOUSE_DATA"] = str(data)
    elsewhere = any(map(os.environ.get, ("DATABASE_URL", "DATABASE_URL_FILE", "POSTGRES_HOST")))
    if not (elsewhere or (data / "drafthouse.sqlite3").exists()):
        sys.exit(
            f"There is no Drafthouse in {data} yet. Start ./drafthouse up first; where it was given a --data, give the "
            "same here."
        )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    import django  # not above: --help must not need it

    django.setup()


class DataFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=modes.FOLDER)
            self.was_open = modes.tighten(path, modes.FOLDER)  # to others than its owner
            self._lock = os.open(path / "drafthouse.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Taken(not_writable(path, error.strerror)) from None
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
