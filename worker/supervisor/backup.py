"""`./drafthouse backup FILE` and `./drafthouse restore FILE`, for a data folder or the database of DATABASE_URL."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from webapp.backup.archive import BackupProblem, in_words, opened
from worker.supervisor import data_folder

if TYPE_CHECKING:
    from webapp.backup.restoring import Restored

BACKUP = (
    "Write database, uploads and secrets into one file. Drafthouse may run meanwhile. Keep the file as safe as a "
    "password: it holds the keys of your lab."
)
RESTORE = "Restore a backup into a data folder and its database. Stop Drafthouse there first."


def main(argv: Sequence[str]) -> None:
    asked = read_arguments(argv)
    data = data_folder.folder(asked.data)
    os.environ["DRAFTHOUSE_DATA"] = str(data)
    try:
        if asked.command == "backup":
            back_up(data, asked)
        else:
            restore(data, asked)
    except (BackupProblem, OSError) as error:
        sys.exit(in_words(error))


def read_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse")
    commands = parser.add_subparsers(dest="command", required=True)
    backup = commands.add_parser("backup", description=BACKUP)
    backup.add_argument("file", metavar="FILE", help="the file to write; `-` writes to standard output")
    backup.add_argument("--with-bucket", action="store_true", help="copy uploads that lie in a bucket, too")
    restore = commands.add_parser("restore", description=RESTORE)
    restore.add_argument("file", metavar="FILE", help="a file that `backup` wrote; `-` reads standard input")
    restore.add_argument("--check", action="store_true", help="only check that the file is whole")
    restore.add_argument("--replace", action="store_true", help="take the place of the lab there, and keep that beside")
    default = data_folder.default_folder()
    for each in (backup, restore):
        each.add_argument("--data", type=Path, default=default, help="the data folder (%(default)s)")
    return parser.parse_args(argv)


def back_up(data: Path, asked: argparse.Namespace) -> None:
    data_folder.set_up(data)
    from webapp.backup import saving

    manifest = saving.save(asked.file, with_bucket=asked.with_bucket, tell=print_aside)
    print_aside(manifest.describe())


def restore(data: Path, asked: argparse.Namespace) -> None:
    """The file is checked before settings are read, for those make the data folder."""
    nearest = next(folder for folder in (data, *data.parents) if folder.exists())
    was_there = data.exists()
    with opened(asked.file, nearest) as archive:
        manifest = archive.verify()
        print_out(manifest.describe())
        if asked.check:
            return print_out("The file is whole.")
        try:
            import django

            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
            django.setup()
            from webapp.backup import restoring

            restored = restoring.restore(archive, manifest, replace=asked.replace, tell=print_aside)
        except BaseException:
            if not was_there:
                shutil.rmtree(data, ignore_errors=True)
            raise
    print_out("\n".join(outcome(restored)))


def outcome(restored: Restored) -> Iterator[str]:
    yield f"Restored {restored.row_count:,} rows and {restored.chunk_count:,} chunks; all hashes are equal."
    if restored.requeued:
        yield f"{restored.requeued} jobs ran when the backup was made; they wait to be run again."
    yield from (f"What was there before is kept: {place}" for place in restored.aside)
    yield from (f"Note: {warning}" for warning in restored.warnings)
    yield "Everybody must sign in again. Start Drafthouse, or restart each process of it that runs."


def print_out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def print_aside(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
