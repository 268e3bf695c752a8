"""Compare the migrations of a database with those that this program knows."""

from __future__ import annotations

import functools

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from webapp.core.version import version

Migration = tuple[str, str]


def missing(connection: BaseDatabaseWrapper) -> int:
    """Count migrations that are not applied yet."""
    return len(_loader().disk_migrations.keys() - applied(connection))


def newer(connection: BaseDatabaseWrapper) -> str:
    """Say that a newer Drafthouse made this database, whose tables this one does not know; empty if none did."""
    replaced = {one for squashed in _loader().disk_migrations.values() for one in squashed.replaces}
    unknown = sorted(applied(connection) - _loader().disk_migrations.keys() - replaced)
    if not unknown:
        return ""
    return (
        f"This database was made by a newer Drafthouse: {version()} does not know its migration "
        f"{'.'.join(unknown[-1])}. Start the newer one again, or go back with a backup, as docs/operate.md says under "
        "Going back."
    )


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
