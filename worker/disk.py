"""A full disk: nobody's fault, and over as soon as somebody makes room."""

from __future__ import annotations

import errno

FULL = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = "The disk of its machine is full. Make room there; the job is tried again until there is some."


class NotNow(Exception):
    """This machine cannot do it at present, through no fault of the job; the message says why."""


def is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in FULL


def tells_of_full_disk(sentence: str) -> bool:
    """Whether an error of another process, told in words, was that."""
    return any(f"[Errno {number}]" in sentence for number in FULL)
