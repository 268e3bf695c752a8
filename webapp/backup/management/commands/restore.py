"""`manage.py restore FILE`: restore a backup into this data folder and this database."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from webapp.backup import arguments, restoring
from webapp.backup.archive import BackupProblem, in_words, opened
from webapp.backup.restoring import Restored


class Command(BaseCommand):
    help = arguments.RESTORE
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.for_restore(parser)

    def handle(self, *args: Any, file: str, check: bool, replace: bool, **options: Any) -> None:
        try:
            with opened(file, Path(settings.DATA_DIR)) as archive:
                manifest = archive.verify()
                self.stdout.write(manifest.describe())
                if check:
                    return self.stdout.write("The file is whole.")
                restored = restoring.restore(archive, manifest, replace=replace, tell=self.stderr.write)
        except (BackupProblem, OSError) as error:
            raise CommandError(in_words(error)) from None
        self.stdout.write("\n".join(outcome(restored)))


def outcome(restored: Restored) -> Iterator[str]:
    yield f"Restored {restored.row_count:,} rows and {restored.chunk_count:,} chunks; all hashes are equal."
    if restored.requeued:
        yield f"{restored.requeued} jobs ran when the backup was made; they wait to be run again."
    yield from (f"What was there before is kept: {place}" for place in restored.aside)
    yield from (f"Note: {warning}" for warning in restored.warnings)
    yield "Everybody must sign in again. Start Drafthouse, or restart each process of it that runs."
