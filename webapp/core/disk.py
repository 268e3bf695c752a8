"""Tell a full disk from other errors of a database or a file, so that the sentence blames the disk."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

SENTENCE = "The disk of the server is full, so this could not be kept."
HINT = "Tell the operator to free some space; nothing that was kept is lost."
POSTGRESQL_DISK_FULL = "53100"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_SQLITE_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE)


def not_writable(path: object, why: object) -> str:
    """Tell an operator of a file or a folder that cannot be written at the start."""
    return (
        f"{path} cannot be written ({why}). Give it to the user that runs Drafthouse, on a disk that has room and "
        "is not read-only, or name another data folder in DRAFTHOUSE_DATA."
    )


def is_disk_full(error: BaseException | None) -> bool:
    """Whether this error, or one that caused it, says that a disk is full."""
    return any(map(_says_so, _chain(error)))


def _says_so(error: BaseException) -> bool:
    match error:
        case OSError():
            return error.errno in _FULL
        case sqlite3.Error():
            return getattr(error, "sqlite_errorcode", None) in _SQLITE_FULL
    return getattr(error, "sqlstate", None) == POSTGRESQL_DISK_FULL


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
