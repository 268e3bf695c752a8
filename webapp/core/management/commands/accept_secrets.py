"""`manage.py accept_secrets`: take this machine's secrets for those of the database, after a change on purpose."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from webapp.core import fingerprints


class Command(BaseCommand):
    help = "Take this machine's secrets for those of the database. Tokens, links and sessions of other secrets end."

    def handle(self, *args: Any, **options: Any) -> None:
        fingerprints.accept()
