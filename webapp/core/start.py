"""Refuse to start on a database or a disk that this program cannot use, with a sentence that says what to do."""

from __future__ import annotations

import errno
import logging
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from webapp.core import damage, edition, fingerprints
from webapp.core.disk import is_disk_full, not_writable
from webapp.core.outage import Outage
from webapp.core.problems import Problem

_NOT_OURS_TO_WRITE = (errno.EROFS, errno.EACCES, errno.EPERM)
_CANNOT_BE_WRITTEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def trouble(connection: BaseDatabaseWrapper) -> str:
    """Say why this program must not serve this database; empty if it may."""
    if told := fingerprints.mismatch(connection):
        told += " If you changed them on purpose, run `manage.py accept_secrets`."
    return edition.mismatch(connection) or told


def look() -> None:
    """End the process if it must not serve this database, or cannot use it."""
    _end_if(trouble)


def wait(logger: logging.Logger) -> None:
    """Look as soon as the database answers, for a process that hands out no secrets: scheduler or worker. A worker on
    another machine may have other secrets; all that it then cannot do is to read the keys of servers."""
    until_it_answers("the database", logger, lambda: _end_if(edition.mismatch), (OperationalError, InterfaceError))
    if told := fingerprints.mismatch(connection):
        logger.warning("%s Until then no job here can ask a server that needs a key.", told)
    connection.close()


def _end_if(wrong: Callable[[BaseDatabaseWrapper], str]) -> None:
    with refused():
        damage.look()
        if told := wrong(connection):
            sys.exit(told)
    connection.close()


def until_it_answers(
    name: str,
    logger: logging.Logger,
    ask: Callable[[], None],
    errors: tuple[type[Exception], ...],
    *,
    within: float | None = None,
    hint: str = "",
) -> None:
    """Ask again and again. End the process if there is no answer in time."""
    outage = Outage(name, logger, meanwhile="the start waits")
    deadline = None if within is None else time.monotonic() + within
    while True:
        try:
            ask()
            return outage.ends()
        except errors as error:
            if deadline is not None and time.monotonic() > deadline:
                sys.exit(f"{name.capitalize()} did not answer within {within:.0f} s ({error}). {hint}")
            connection.close()
            time.sleep(outage.begins(error))


@contextmanager
def refused() -> Iterator[None]:
    """End the process with a sentence if the code in this context meets a damaged database, or a disk that takes
    nothing."""
    try:
        yield
    except (DatabaseError, OSError, Problem) as error:
        if not (told := _in_words(error)):
            raise
        sys.exit(told)


def _in_words(error: Exception) -> str:
    match error:
        case Problem():
            return f"{error.detail} {error.hint}".strip()
        case _ if is_disk_full(error):
            return f"The disk is full ({error}). Free some space on the disk of {settings.DATA_DIR}, then start again."
        case DatabaseError() if damage.is_damaged(error):
            return damage.sentence(error)
        case DatabaseError() if damage.code(error) in _CANNOT_BE_WRITTEN:
            return not_writable(connection.settings_dict["NAME"], error)
        case OSError() if error.errno in _NOT_OURS_TO_WRITE:
            return not_writable(error.filename, error.strerror)
    return ""
