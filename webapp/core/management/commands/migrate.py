"""`manage.py migrate` of Django, which also refuses the database of a newer or a much older Drafthouse."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connections

from webapp.core import edition


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if told := edition.mismatch(connections[options["database"]]):
            raise CommandError(told)
        super().handle(*args, **options)
