"""Files that appear under their name only when they are whole."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from decoding.errors import DrafthouseError
from worker.supervisor.data_folder import folder
from worker.terminal.guarded import writes

ROOT = Path(__file__).resolve().parents[2]
GIB = 2**30


class BadOutput(DrafthouseError):
    code = "bad-output"


def require_folder(path: Path) -> None:
    """One that can be made or written in: told before the work and not after it. Nothing is made yet."""
    there = next(place for place in (path.resolve(), *path.resolve().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadOutput(f"{path} cannot be written: {there} is not a folder of yours. Give another with --out DIR.")


def kept(name: str) -> tuple[Path, int]:
    """Folder of files that commands keep for the next ones, and the bytes that they may take."""
    data = folder(None)
    data.mkdir(parents=True, exist_ok=True)
    most = int(os.environ.get("DRAFTHOUSE_MODEL_CACHE_GB") or 0) * GIB
    return data / name, most or shutil.disk_usage(data).total


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """Yield a path to write to; the file gets its name at the end, and is gone after an error. A folder that cannot be
    written is refused before the work."""
    path = path.resolve()  # a link stays a link
    beside = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")  # a rename would put a file in a device's place
        writes(beside)
        beside.touch()
    except OSError as error:
        raise BadOutput(f"{path} cannot be written: {error.strerror}. Give a path in a folder of yours.") from None
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a text file that gets its name at the end."""
    with whole_path(path) as beside, beside.open("w", encoding="utf-8") as file:
        yield file
