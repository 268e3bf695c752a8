"""Compare the migrations of a database with those that this program knows."""

from __future__ import annotations

import functools
from collections.abc import Collection

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from webapp.core.version import version

Migration = tuple[str, str]

LAST_THAT_MIGRATES = "6ffc8901"  # has the migrations that our initial ones replace


def missing(connection: BaseDatabaseWrapper) -> int:
    """Count migrations that are not applied yet."""
    return len(_loader().disk_migrations.keys() - applied(connection))


def mismatch(connection: BaseDatabaseWrapper) -> str:
    """Say that a newer Drafthouse made this database, or one so old that this one cannot bring it up to date; empty if
    neither did."""
    there = applied(connection)
    if one := unknown(there):
        return (
            f"This database was made by a newer Drafthouse: {version()} does not know its migration {one}. Start the "
            "newer one again, or go back with a backup, as docs/operate.md says under Going back."
        )
    if one := lacking(there):
        return (
            f"This database was made by an older Drafthouse: its migration {one} is not applied, and {version()} no "
            f"longer has it. Check out commit {LAST_THAT_MIGRATES}, run its `manage.py migrate`, then start this one."
        )
    return ""


def unknown(there: Collection[Migration]) -> str:
    """Name the last of these migrations that this program does not know; empty if it knows all."""
    replaced = {one for initial in _loader().disk_migrations.values() for one in initial.replaces}
    return max(map(".".join, {*there} - _loader().disk_migrations.keys() - replaced), default="")


def lacking(there: Collection[Migration]) -> str:
    """Name the first older migration that is not among these although others of its app are; empty if there is none."""
    started = {app for app, _ in there}
    old = {one for initial in _loader().disk_migrations.values() for one in initial.replaces if one[0] in started}
    return min(map(".".join, old - {*there}), default="")


def applied(connection: BaseDatabaseWrapper) -> set[Migration]:
    """Read the applied migrations over this very connection. Django's recorder would take the thread's usual one, from
    the pool."""
    table = MigrationRecorder.Migration._meta.db_table
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return set()
        cursor.execute(f"SELECT app, name FROM {connection.ops.quote_name(table)}")
        return set(cursor.fetchall())


def schema() -> str:
    """Name the tables that this program needs: the number of the last migration of each app."""
    return " ".join(f"{app}.{name[:4]}" for app, name in sorted(_loader().graph.leaf_nodes()))


@functools.cache
def _loader() -> MigrationLoader:
    return MigrationLoader(None)
