"""`./drafthouse backup FILE` and `./drafthouse restore FILE`, for a data folder or the database of DATABASE_URL."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from webapp.backup import arguments
from webapp.backup.archive import BackupProblem, in_words, opened

ROOT = Path(__file__).resolve().parents[2]
DATABASE = ("DATABASE_URL", "POSTGRES_HOST")  # either names a database that is not in the data folder


def main(argv: Sequence[str]) -> None:
    asked = read_arguments(argv)
    data = asked.data.expanduser().resolve()
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
    backup = commands.add_parser("backup", description=arguments.BACKUP)
    arguments.for_backup(backup)
    restore = commands.add_parser("restore", description=arguments.RESTORE)
    arguments.for_restore(restore)
    default = Path(os.environ.get("DRAFTHOUSE_DATA") or ROOT / "data")
    for each in (backup, restore):
        each.add_argument("--data", type=Path, default=default, help="the data folder (%(default)s)")
    return parser.parse_args(argv)


def back_up(data: Path, asked: argparse.Namespace) -> None:
    if not (any(map(os.environ.get, DATABASE)) or (data / "drafthouse.sqlite3").exists()):
        raise BackupProblem(f"There is no Drafthouse in {data}. Name its data folder with --data.")
    call("backup", asked.file, with_bucket=asked.with_bucket)


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
            set_up()
            from webapp.backup import restoring
            from webapp.backup.management.commands.restore import outcome

            restored = restoring.restore(archive, manifest, replace=asked.replace, tell=lambda word: None)
        except BaseException:
            if not was_there:
                shutil.rmtree(data, ignore_errors=True)
            raise
    print_out("\n".join(outcome(restored)))


def call(command: str, file: str, **options: Any) -> None:
    set_up()
    from django.core.management import CommandError, call_command

    try:
        call_command(command, file, **options)
    except CommandError as refusal:
        sys.exit(str(refusal))


def set_up() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()


def print_out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
