"""Files that appear under their name only when they are whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from decoding.errors import DrafthouseError
from worker.terminal.guarded import writes


class BadOutput(DrafthouseError):
    code = "bad-output"


def require_folder(path: Path) -> None:
    """One that can be made or written in: told before the work and not after it. Nothing is made yet."""
    there = next(place for place in (path.resolve(), *path.resolve().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadOutput(f"{path} cannot be written: {there} is no folder of yours. Give another with --out DIR.")


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Opened at once under another name, so that a folder that cannot be written is told before the work and not after
    it; renamed at the end; gone after an error."""
    path = path.resolve()  # a link stays a link
    beside = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is no regular file")  # a rename would put a file in a device's place
        writes(beside)
        file = beside.open("w", encoding="utf-8")
    except OSError as error:
        raise BadOutput(f"{path} cannot be written: {error.strerror}. Give a path in a folder of yours.") from None
    try:
        with file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
