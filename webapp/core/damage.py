"""Tell a damaged SQLite file, with a sentence that names the way back."""

from __future__ import annotations

import sqlite3

from django.db import connection

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FIRST_BYTE = 0xFF  # the low bits of SQLite's error code name the kind; the rest says where


def is_damaged(error: BaseException | None) -> bool:
    """Whether SQLite says that the file is no database, or no longer a whole one."""
    return code(error) in _DAMAGED


def code(error: BaseException | None) -> int:
    """Return the kind of an error by SQLite; 0 for others."""
    by = error if isinstance(error, sqlite3.Error) else getattr(error, "__cause__", None)
    return getattr(by, "sqlite_errorcode", 0) & _FIRST_BYTE if isinstance(by, sqlite3.Error) else 0


def look() -> None:
    """Read the header, the schema and a row of each table. Deeper damage shows when it is read."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")


def sentence(error: BaseException) -> str:
    return (
        f"The database {connection.settings_dict['NAME']} is damaged ({error}). Stop Drafthouse and restore the last "
        "backup with ./drafthouse restore FILE; its --help says how the damaged file is kept beside."
    )
