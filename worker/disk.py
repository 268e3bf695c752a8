"""A full disk on a worker's machine: no fault of the job, and over as soon as somebody makes room."""

from __future__ import annotations

import errno

_FULL = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = "The disk of its machine is full. Make room there; the job is tried again until there is some."


class NotNow(Exception):
    """This machine cannot do it at present, through no fault of the job; the message says why."""


def tells_of_full_disk(sentence: str) -> bool:
    """Whether an error of another process, told in words, was that."""
    return any(f"[Errno {number}]" in sentence for number in _FULL)
