"""`manage.py api_token --scope submit`: a token for scripts on this machine."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.accounts import actor as actors
from webapp.accounts import services
from webapp.accounts.models import Scope
from webapp.core.problems import Problem


class Command(BaseCommand):
    help = "Print an API token of the first owner, in the team they act in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--scope", choices=Scope.values, default=Scope.SUBMIT.value)
        parser.add_argument("--days", type=int, default=90)
        parser.add_argument("--name", default="command line")

    def handle(self, *args: Any, scope: str, days: int, name: str, **options: Any) -> None:
        if not 1 <= days <= 3650:
            raise CommandError(f"--days is {days}; it must lie between 1 and 3650.")
        try:
            by = actors.of_user(services.first_owner())
            _, text = services.create_token(name=name, scope=Scope(scope), days=days, by=by)
        except Problem as problem:
            raise CommandError(f"{problem.detail} {problem.hint}") from None
        self.stdout.write(text)
