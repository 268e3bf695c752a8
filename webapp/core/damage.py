"""Refuse to start on a damaged SQLite file, with a sentence that names the way back."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FIRST_BYTE = 0xFF  # the low bits of SQLite's error code name the kind; the rest says where


def is_damaged(error: BaseException | None) -> bool:
    """Whether SQLite says that the file is no database, or no longer a whole one."""
    by = error if isinstance(error, sqlite3.Error) else getattr(error, "__cause__", None)
    return isinstance(by, sqlite3.Error) and getattr(by, "sqlite_errorcode", 0) & _FIRST_BYTE in _DAMAGED


@contextmanager
def refused() -> Iterator[None]:
    """End the process with a sentence if the code in this context meets a damaged database."""
    try:
        yield
    except DatabaseError as error:
        if not is_damaged(error):
            raise
        sys.exit(sentence(error))


def look() -> None:
    """End the process if the header, schema or first rows cannot be read. Deeper damage shows when it is read."""
    if connection.vendor != "sqlite":
        return
    with refused(), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")
    connection.close()


def sentence(error: BaseException) -> str:
    return (
        f"The database {connection.settings_dict['NAME']} is damaged ({error}). Stop Drafthouse and restore the last "
        "backup with ./drafthouse restore FILE; its --help says how the damaged file is kept beside."
    )
