"""Make a backup while Drafthouse runs. Rows come from one snapshot of the database; chunks are named by their content
and never change, so they can be copied before it."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Model
from django.db.transaction import atomic
from django.utils import timezone

from webapp.backup import rows
from webapp.backup.archive import SECRETS, BackupManifest, BackupProblem, Writer
from webapp.backup.switching import JOURNAL
from webapp.core import tallies
from webapp.core.databases import instead
from webapp.core.version import version
from webapp.uploads import store
from webapp.uploads.storing import StoreTrouble

PART = 4 * 1024**2  # bytes of rows that are packed together
TRIES = 3  # a sweep may delete chunks between the copy and the snapshot

Chunk = tuple[str, str, int]  # team, SHA-256, size
Tell = Callable[[str], None]


def save(file: str, *, with_bucket: bool, tell: Tell) -> BackupManifest:
    """Write a backup, and count it. `-` is standard output."""
    if file != "-":
        manifest = _save_to(Path(file), with_bucket=with_bucket, tell=tell)
    elif sys.stdout.isatty():
        raise BackupProblem("A backup cannot be written to a terminal. Send it to a file: backup - > FILE")
    else:
        manifest = write(sys.stdout.buffer, with_bucket=with_bucket, tell=tell)
        sys.stdout.buffer.flush()
    with suppress(DatabaseError):  # an older database has no tallies, and a full disk takes none
        tallies.add(tallies.BACKUPS)
    return manifest


def _save_to(path: Path, *, with_bucket: bool, tell: Tell) -> BackupManifest:
    """Write the whole backup or none: FILE appears once everything is on the disk."""
    part = path.with_name(f"{path.name}.part")
    with _part(part) as out:
        manifest = write(out, with_bucket=with_bucket, tell=tell)
        out.flush()
        os.fsync(out.fileno())
        part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return manifest


def write(out: IO[bytes], *, with_bucket: bool, tell: Tell) -> BackupManifest:
    if (Path(settings.DATA_DIR) / JOURNAL).exists():
        raise BackupProblem("A restore was interrupted here. Start `./drafthouse up`, which finishes it, then back up.")
    writer = Writer(out, version=version(), made=timezone.now())
    copies = Copies(writer, is_copying=with_bucket or not settings.S3_BUCKET, tell=tell)
    try:
        copies.take(_named())
        for left in reversed(range(TRIES)):
            with _snapshot():
                named = _named()
                if not copies.take(named) or not left:
                    return _close(writer, named, copies)
    except DatabaseError as error:
        raise BackupProblem(f"The database cannot be read: {error}".strip()) from None
    raise AssertionError("the last try always ends")


def _close(writer: Writer, named: list[Chunk], copies: Copies) -> BackupManifest:
    migrations = rows.applied()
    tables = {label: _add_table(writer, model) for label, model in rows.models_at(migrations).items()}
    for name in SECRETS:
        writer.add(f"secrets/{name}", getattr(settings, name.upper()).encode())
    missing = copies.missing(named)
    if missing and settings.S3_BUCKET:
        raise BackupProblem(
            f"{len(missing)} of {len(named)} chunks cannot be read from the bucket. See that it answers, or leave out "
            "--with-bucket."
        )
    return writer.close(
        {
            "engine": connection.vendor,
            "migrations": migrations,
            "tables": tables,
            "chunks": named,
            "where": store.current().told(),
            "has_chunks": copies.is_copying,
            "missing": missing,
        }
    )


class Copies:
    """The chunks that are in the backup already."""

    def __init__(self, writer: Writer, *, is_copying: bool, tell: Tell) -> None:
        self.is_copying = is_copying
        self._writer = writer
        self._tell = tell
        self._done: set[Chunk] = set()

    def take(self, named: Iterable[Chunk]) -> int:
        """Copy the chunks that are not in the backup yet; return how many could not be read."""
        todo = [chunk for chunk in named if chunk not in self._done] if self.is_copying else []
        for number, (team, sha256, size) in enumerate(todo, 1):
            content = _content(team, sha256, size)
            if content is not None:
                self._writer.add(f"chunks/{team}/{sha256}", content)
                self._done.add((team, sha256, size))
            if number % 1000 == 0:
                self._tell(f"{number} of {len(todo)} chunks")
        return len(self.missing(todo))

    def missing(self, named: Iterable[Chunk]) -> list[str]:
        return [sha256 for team, sha256, size in named if self.is_copying and (team, sha256, size) not in self._done]


def _content(team: str, sha256: str, size: int) -> bytes | None:
    """Read a chunk; None if the store lacks it or holds other content."""
    with suppress(FileNotFoundError, StoreTrouble):
        content = store.current().read(UUID(team), sha256, 0, size)
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    return None


def _named() -> list[Chunk]:
    model = rows.models_at(rows.applied()).get("uploads.chunk")
    if model is None:
        raise BackupProblem("The database has no tables of Drafthouse. Start `./drafthouse up` once, which makes them.")
    found = model._base_manager.order_by("pk").values_list("team_id", "sha256", "size")
    return [(str(team), sha256, size) for team, sha256, size in found]


def _add_table(writer: Writer, model: type[Model]) -> dict[str, Any]:
    content = rows.Content()
    for number, part in enumerate(_parts(rows.lines(model, content))):
        writer.add(f"tables/{model._meta.label_lower}/{number:06}.gz", gzip.compress(part, 6, mtime=0))
    return content.to_dict()


def _parts(lines: Iterable[bytes]) -> Iterator[bytes]:
    gathered, size = [], 0
    for line in lines:
        gathered.append(line)
        size += len(line)
        if size >= PART:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Connect to a snapshot of the database, without blocking writers."""
    options = dict(settings.DATABASES["default"].get("OPTIONS", {}))
    if connection.vendor == "sqlite":
        options["transaction_mode"] = "DEFERRED"
    else:
        from psycopg import IsolationLevel

        options["isolation_level"] = IsolationLevel.REPEATABLE_READ
    with instead(OPTIONS=options), atomic():
        yield


@contextmanager
def _part(path: Path) -> Iterator[IO[bytes]]:
    """Open the partial file. Overwrite one that a killed backup left, but not one that another backup is writing, and
    none that somebody else has put there: a backup holds the secret keys."""
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb")
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise BackupProblem(f"{path} cannot be written ({why}). Name a file in a folder of yours.") from None
    with file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink > 1:
            raise BackupProblem(f"{path} is not a plain file of yours alone. Delete it, or name another file.")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupProblem(
                f"Another backup is being written to {path}. Wait for it, or name another file."
            ) from None
        os.fchmod(file.fileno(), 0o600)
        file.truncate()
        try:
            yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise
