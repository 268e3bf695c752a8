"""Databases of older editions, made by a graph of migrations in which none stands for several."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader


def one_by_one() -> MigrationExecutor:
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    for squashed, migration in executor.loader.replacements.items():
        executor.loader.graph.remove_replacement_node(squashed, migration.replaces)
    return executor


def at(*targets: tuple[str, str | None]) -> MigrationExecutor:
    """Take the database back, or forward, to these migrations of apps, or to the last of each. `None` is none of an
    app. Older editions recorded no squashed migration."""
    executor = one_by_one()
    executor.migrate(targets or executor.loader.graph.leaf_nodes())
    for squashed in executor.loader.replacements:
        executor.recorder.record_unapplied(*squashed)
    return executor
