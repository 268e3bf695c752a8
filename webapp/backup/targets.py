"""Databases to restore into. The new one is made out of sight and the old one is kept: in SQLite as a file beside it,
in PostgreSQL as a schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper
from django.db.transaction import atomic

from webapp.backup.archive import BackupProblem
from webapp.backup.switching import staged
from webapp.core.databases import instead
from webapp.jobs.models import Worker

PATIENCE = "30s"  # to wait for locks that requests of a running web process hold

# If none of these tables has such a row, nobody but the first start has written anything.
USED = {
    "accounts_user": "last_login IS NOT NULL",
    "accounts_apitoken": "true",
    "comparisons_comparison": "true",
    "studies_study": "true",
    "registry_training": "true",
}


def current(stamp: str) -> Sqlite | Postgres:
    return Sqlite() if connection.vendor == "sqlite" else Postgres(stamp)


def what_is_there() -> str:
    """Say in a sentence what a restore would replace; empty if nobody has used this database yet."""
    where = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and not Path(where).exists():
        return ""
    try:
        with connection.cursor() as cursor:
            tables = set(connection.introspection.table_names(cursor))
            for table, condition in USED.items():
                if table in tables and _count(cursor, f"{table} WHERE {condition}"):
                    users = _count(cursor, "accounts_user")
                    comparisons = _count(cursor, "comparisons_comparison")
                    return f"The database {where} is in use: {users} users, {comparisons} comparisons."
    except DatabaseError as error:
        if connection.vendor != "sqlite":
            raise BackupProblem(f"The database does not answer: {error}".strip()) from None
        return f"The database {where} cannot be read: {error}."
    finally:
        connection.close()
    return ""


def _count(cursor: CursorWrapper, of: str) -> int:
    cursor.execute(f"SELECT count(*) FROM {of}")
    return int((cursor.fetchone() or (0,))[0])


class Sqlite:
    aside = ""  # the old one's name after `making`, if it is no file

    def __init__(self) -> None:
        self.path = Path(connection.settings_dict["NAME"])
        self.files = [self.path]  # that a switch puts into place
        self.is_used = self.path.exists() and self.path.stat().st_size > 0  # whether the old one is worth keeping

    @contextmanager
    def making(self) -> Iterator[None]:
        """Connect the default connection to an empty database. It becomes visible whole at the end, or not at all after
        an error."""
        path = staged(self.path)
        quick = {"init_command": "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"}  # synced once it is complete
        path.touch(mode=0o600)
        with instead(NAME=str(path), OPTIONS=quick):
            yield


class Postgres:
    """A PostgreSQL target, filled in one transaction: a killed restore leaves nothing, and readers see the old database
    until the end."""

    def __init__(self, stamp: str) -> None:
        self.files: list[Path] = []
        self.aside = ""
        self._schema = f"before_restore_{stamp.replace('-', '_')}"
        self._tables = self._ours()
        self.is_used = bool(self._tables)
        self._require_nobody_at_work()

    @contextmanager
    def making(self) -> Iterator[None]:
        with instead(), atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
            if self._tables:
                cursor.execute(f"CREATE SCHEMA {self._schema}")
                for table in self._tables:
                    cursor.execute(f'ALTER TABLE "{table}" SET SCHEMA {self._schema}')
                self.aside = f"the schema {self._schema} of the database"
            yield

    def _ours(self) -> list[str]:
        with connection.cursor() as cursor:
            there = set(connection.introspection.table_names(cursor))
        known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
        return sorted(there & (known | {"django_migrations"}))

    def _require_nobody_at_work(self) -> None:
        if Worker._meta.db_table in self._tables:
            names = ", ".join(Worker.objects.alive().values_list("name", flat=True))
            if names:
                raise BackupProblem(
                    f"Workers are at work on this database: {names}. Stop them and the scheduler first, wait "
                    f"{Worker.SILENCE.seconds} s, then restore."
                )
