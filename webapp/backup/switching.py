"""Exchange files of a data folder for restored ones. Each new file is staged beside the old one; then a journal is
written, and from then on the next start finishes the exchange. A process that is killed at any point leaves either the
old state or the new one. Standard library only: it runs before settings are read."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from webapp.backup.archive import BackupProblem

JOURNAL = "restore.json"
LOCK = "drafthouse.lock"  # the supervisor holds it for as long as it runs
COMPANIONS = ("-wal", "-shm")  # SQLite's own files: a database without them is another database


def staged(path: Path) -> Path:
    return path.with_name(f"{path.name}.restoring")


def aside(path: Path, stamp: str) -> Path:
    return path.with_name(f"{path.name}.before-{stamp}")


def clear(paths: Sequence[Path]) -> None:
    """Delete what a killed restore staged."""
    for path in map(staged, paths):
        _remove(path)
        for ending in (*COMPANIONS, "-journal"):
            _remove(path.with_name(path.name + ending))


def switch(data: Path, paths: Sequence[Path], stamp: str, *, keeps_old: bool) -> list[Path]:
    """Move staged files into place; return where the old ones are now."""
    for path in paths:
        _sync(staged(path))
    journal = data / JOURNAL
    fresh = staged(journal)
    fresh.write_text(json.dumps({"paths": [str(path) for path in paths], "stamp": stamp, "keeps_old": keeps_old}))
    _sync(fresh)
    fresh.replace(journal)
    _sync_folder(data)
    finish(data)
    return [old for path in paths if (old := aside(path, stamp)).exists()]


def finish(data: Path) -> None:
    """Finish an exchange that was interrupted. Each step may run twice."""
    journal = data / JOURNAL
    if not journal.exists():
        return
    order = json.loads(journal.read_text())
    for path in map(Path, order["paths"]):
        old = aside(path, order["stamp"])
        if staged(path).exists():
            for ending in (*COMPANIONS, ""):
                with suppress(FileNotFoundError):
                    path.with_name(path.name + ending).rename(old.with_name(old.name + ending))
            staged(path).rename(path)
        if not order["keeps_old"]:
            _remove(old)
        _sync_folder(path.parent)
    journal.unlink()
    _sync_folder(data)


@contextmanager
def alone(data: Path) -> Iterator[None]:
    """Hold the data folder's lock: no Drafthouse runs in it, and none can start."""
    file = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupProblem(
                f"A Drafthouse runs in {data}. Stop it with Ctrl-C first, or restore into another folder with --data."
            ) from None
        yield
    finally:
        os.close(file)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    for one in path.iterdir() if path.is_dir() else [path]:
        with one.open("rb") as file:
            os.fsync(file.fileno())
    if path.is_dir():
        _sync_folder(path)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
