"""`manage.py migrate` of Django, which also refuses the database of a newer Drafthouse, and to go back into the middle
of a squashed migration."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.exceptions import AmbiguityError
from django.db.migrations.loader import MigrationLoader

from webapp.core import edition


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Django would unapply both the squashed migrations and those that they replace, and so drop whole tables."""
        if told := edition.newer(connections[options["database"]]):
            raise CommandError(told)
        app, name = options["app_label"], options["migration_name"]
        if app and name and name != "zero":
            loader = MigrationLoader(connections[options["database"]])
            whole = _squashed(loader, app, name)
            if whole:
                raise CommandError(
                    f"{app}.{name} is a part of {app}.{whole}, which can only be applied as a whole. To go back to an "
                    "older Drafthouse, install it and restore a backup that it made."
                )
        super().handle(*args, **options)


def _squashed(loader: MigrationLoader, app: str, name: str) -> str:
    """Return the name of the migration that stands for this one in the graph, if there is one."""
    try:
        found = (app, loader.get_migration_by_prefix(app, name).name)
    except (AmbiguityError, KeyError):
        return ""  # Django has sentences for these
    parts = loader.replacements.items() if found not in loader.graph.nodes else ()
    return next((key[1] for key, squashed in parts if found in squashed.replaces), "")
