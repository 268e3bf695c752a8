"""`manage.py backup FILE`: database, uploads and secrets in one file, while everything runs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from webapp.backup import arguments, saving
from webapp.backup.archive import BackupManifest, BackupProblem, in_words
from webapp.core import tallies


class Command(BaseCommand):
    help = arguments.BACKUP
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.for_backup(parser)

    def handle(self, *args: Any, file: str, with_bucket: bool, **options: Any) -> None:
        try:
            manifest = self._save(file, with_bucket)
        except (BackupProblem, OSError) as error:
            raise CommandError(in_words(error)) from None
        with suppress(DatabaseError):  # an older database has no tallies, and a full disk takes none
            tallies.add(tallies.BACKUPS)
        self.stderr.write(manifest.describe())

    def _save(self, file: str, with_bucket: bool) -> BackupManifest:
        if file != "-":
            return saving.save_to(Path(file), with_bucket=with_bucket, tell=self.stderr.write)
        if sys.stdout.isatty():
            raise BackupProblem("A backup cannot be written to a terminal. Send it to a file: backup - > FILE")
        manifest = saving.save(sys.stdout.buffer, with_bucket=with_bucket, tell=self.stderr.write)
        sys.stdout.buffer.flush()
        return manifest
