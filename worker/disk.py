"""The disk of a worker's machine: how much a folder takes, and a full disk, which is no fault of the job and over as
soon as somebody makes room."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = "The disk of its machine is full. Make room there; a worker tries the job again until there is."


class NotNow(Exception):
    """A job that this machine cannot do at present, through no fault of the job; the message says why."""


class Stopped(Exception):
    """The job must be put down; the hold says why."""


def tells_of_full_disk(sentence: str) -> bool:
    """Whether an error of another process, told in words, was that."""
    return any(f"[Errno {number}]" in sentence for number in _FULL)


def bytes_in(folder: Path) -> int:
    """Count the bytes of the files that are there. Another process may add, move or remove some meanwhile."""
    return sum(_bytes_of(Path(at) / name) for at, _, names in os.walk(folder) for name in names)


def _bytes_of(file: Path) -> int:
    with suppress(FileNotFoundError):
        found = file.lstat()
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0
