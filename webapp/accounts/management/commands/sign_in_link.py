"""`manage.py sign_in_link`: the path of a one-time sign-in link, for the launcher to print."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from webapp.accounts import services
from webapp.accounts.models import User


class Command(BaseCommand):
    help = "Print the path of a link that signs a user in once; without --user, the first owner, made if need be."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", help="whom to sign in")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        found = User.objects.filter(username=user.lower(), is_active=True).first() if user else services.first_owner()
        if found is None:
            raise CommandError(f"There is no user {user!r}; invite them from the team page.")
        self.stdout.write(reverse("enter", args=[services.issue_sign_in_link(user=found)]))
