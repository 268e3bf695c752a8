"""Arguments of `backup` and `restore`, the same for `./drafthouse` and `manage.py`."""

from __future__ import annotations

from argparse import ArgumentParser

BACKUP = (
    "Write database, uploads and secrets into one file. Drafthouse may run meanwhile. Keep the file as safe as a "
    "password: it holds the keys of your lab."
)
RESTORE = "Restore a backup into a data folder and its database. Stop Drafthouse there first."


def for_backup(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write; `-` writes to standard output")
    parser.add_argument("--with-bucket", action="store_true", help="copy uploads that lie in a bucket, too")


def for_restore(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that `backup` wrote; `-` reads standard input")
    parser.add_argument("--check", action="store_true", help="only check that the file is whole")
    parser.add_argument("--replace", action="store_true", help="take the place of the lab there, and keep that beside")
