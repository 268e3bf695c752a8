"""The file format of a backup: a plain tar whose manifest lists the size and SHA-256 of every other member.

    drafthouse-backup.json    format, version, date; first, so that a wrong file is known at once
    chunks/TEAM/SHA256        pieces of uploads
    tables/MODEL/NUMBER.gz    rows as JSON lines
    secrets/NAME
    manifest.json             what is in the backup
    manifest.sha256           the manifest's own hash; last, so that a truncated file is known by its absence

Any tar program can unpack it. Drafthouse reads it with a reader of its own, because a backup may come from a stranger:
members are regular files with these names and nothing else, so no link and no path can lead out of a folder, and no
byte is left unchecked. Standard library only: `restore --check` needs nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

FORMAT = 1
HEAD, MANIFEST, SEAL = "drafthouse-backup.json", "manifest.json", "manifest.sha256"
SECRETS = ("secret_key", "token_pepper")
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
PIECE = 1024 * 1024
MOST_JSON = 256 * 1024**2  # bytes of a manifest: a million chunks
MOST_UNPACKED = 128 * 1024**2  # bytes of one part of a table
_NAME = re.compile(
    rf"drafthouse-backup\.json|manifest\.json|manifest\.sha256|secrets/({'|'.join(SECRETS)})|"
    r"tables/[a-z_]{1,40}\.[a-z_]{1,60}/[0-9]{6}\.gz|chunks/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[0-9a-f]{64}"
)


class BackupProblem(Exception):
    """An error that ends a backup or a restore: a sentence with a way out."""


def in_words(error: Exception) -> str:
    """Return the sentence for an error that ends a backup or a restore. A full disk is the usual one."""
    if isinstance(error, OSError):
        where = f" at {error.filename}" if error.filename else ""
        return f"The file system refuses{where}: {error.strerror}. Nothing was changed; make room, then try again."
    return str(error)


def _damaged(what: str) -> BackupProblem:
    return BackupProblem(f"The backup is damaged: {what}. Copy it again from where it was made, or use another one.")


@dataclass(frozen=True, slots=True)
class Member:
    start: int
    size: int


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Archive]:
    """Open a backup by its file name. `-` is standard input, copied to a nameless file in `folder`."""
    if name == "-":
        with tempfile.TemporaryFile(dir=folder) as kept:
            shutil.copyfileobj(sys.stdin.buffer, kept, PIECE)
            yield Archive(kept)
        return
    with ExitStack() as leaving:
        try:
            file = leaving.enter_context(Path(name).open("rb"))
        except OSError as error:
            raise BackupProblem(f"{name} cannot be read ({error.strerror}).") from None
        yield Archive(file)


class Writer:
    """Writes members in order and never goes back, so the file may be a pipe."""

    def __init__(self, out: IO[bytes], *, version: str, made: datetime) -> None:
        self._out = out
        self._mtime = int(made.timestamp())
        self._members: dict[str, list[Any]] = {}
        self._head = {"format": FORMAT, "version": version, "made": made.isoformat()}
        self.add(HEAD, json.dumps(self._head).encode())

    def add(self, name: str, content: bytes) -> None:
        about = tarfile.TarInfo(name)
        about.size, about.mode, about.mtime = len(content), 0o600, self._mtime
        self._out.write(about.tobuf(tarfile.USTAR_FORMAT))
        self._out.write(content)
        self._out.write(bytes(-len(content) % BLOCK))
        self._members[name] = [len(content), hashlib.sha256(content).hexdigest()]

    def close(self, about: dict[str, Any]) -> BackupManifest:
        content = json.dumps({**self._head, **about, "members": dict(self._members)}, indent=1).encode()
        self.add(MANIFEST, content)
        self.add(SEAL, hashlib.sha256(content).hexdigest().encode())
        self._out.write(END)
        return BackupManifest.read(content)


class Archive:
    """A backup open for random access. Nothing in it is trusted before `verify`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._length = file.seek(0, os.SEEK_END)
        file.seek(0)
        self.members = dict(self._index())
        self._check_format()

    def verify(self) -> BackupManifest:
        """Check every byte. Raise BackupProblem on any difference."""
        if SEAL not in self.members or MANIFEST not in self.members:
            raise _damaged("it ends too early")
        if self._hash(MANIFEST) != self._whole(SEAL, 64).decode("ascii", "replace"):
            raise _damaged("its manifest was changed")
        manifest = BackupManifest.read(self._whole(MANIFEST, MOST_JSON))
        if set(manifest.members) != set(self.members) - {MANIFEST, SEAL}:
            raise _damaged("its manifest names other members than there are")
        for name, (size, sha256) in manifest.members.items():
            if self.members[name].size != size or self._hash(name) != sha256:
                raise _damaged(f"{name} was changed")
        self._check_promises(manifest)
        return manifest

    def _check_promises(self, manifest: BackupManifest) -> None:
        """Check that all promised chunks and secrets are in the backup and match their names."""
        for team, sha256, size in manifest.chunks if manifest.has_chunks else ():
            if sha256 not in manifest.missing and manifest.members.get(f"chunks/{team}/{sha256}") != (size, sha256):
                raise _damaged(f"the chunk {sha256[:64]} is missing")
        for name in SECRETS:
            if not re.fullmatch(rb"[\x20-\x7e]{1,1000}", self._whole(f"secrets/{name}", PIECE)):
                raise _damaged(f"secrets/{name} cannot be read")

    def secret(self, name: str) -> str:
        return self._whole(f"secrets/{name}", PIECE).decode("ascii")

    def chunk(self, team: str, sha256: str) -> IO[bytes]:
        member = self.members[f"chunks/{team}/{sha256}"]
        return BytesIO(self._bytes(member.start, member.size))

    def lines(self, model: str) -> Iterator[bytes]:
        """Yield the rows of a table, each as JSON."""
        prefix = f"tables/{model}/"
        for name in sorted(name for name in self.members if name.startswith(prefix)):
            unpacker = zlib.decompressobj(wbits=31)
            try:
                text = unpacker.decompress(self._whole(name, MOST_UNPACKED), MOST_UNPACKED)
            except zlib.error:
                raise _damaged(f"{name} cannot be unpacked") from None
            if not unpacker.eof:
                raise _damaged(f"{name} unpacks to more than {MOST_UNPACKED // 1024**2} MiB")
            yield from text.splitlines()

    def _index(self) -> Iterator[tuple[str, Member]]:
        seen: set[str] = set()
        at = 0
        while (block := self._bytes(at, BLOCK)) != bytes(BLOCK) or not at:
            about = _header(block, is_first=not at)
            if about.name in seen:
                raise _damaged(f"it has {about.name} twice")
            seen.add(about.name)
            start = at + BLOCK
            at = start + about.size + -about.size % BLOCK
            if at + BLOCK > self._length:
                raise _damaged("it ends too early")
            if any(self._bytes(start + about.size, at - start - about.size)):
                raise _damaged(f"it has more data after {about.name}")
            yield about.name, Member(start, about.size)
        if self._length - at != len(END) or self._bytes(at, len(END)) != END:
            raise _damaged("it does not end where it should")

    def _check_format(self) -> None:
        try:
            head = json.loads(self._whole(HEAD, PIECE))
            number, version = int(head["format"]), str(head["version"])
        except (ValueError, KeyError, TypeError):
            raise _damaged("its first member cannot be read") from None
        if number != FORMAT:
            raise BackupProblem(
                f"This backup has format {number}, made by Drafthouse {version[:40]}; this Drafthouse reads format "
                f"{FORMAT}. Restore it with the Drafthouse that made it, or a newer one."
            )

    def _hash(self, name: str) -> str:
        member, digest = self.members[name], hashlib.sha256()
        for at in range(member.start, member.start + member.size, PIECE):
            digest.update(self._bytes(at, min(PIECE, member.start + member.size - at)))
        return digest.hexdigest()

    def _whole(self, name: str, most: int) -> bytes:
        member = self.members.get(name)
        if member is None or member.size > most:
            raise _damaged(f"{name} is missing or too long")
        return self._bytes(member.start, member.size)

    def _bytes(self, start: int, count: int) -> bytes:
        self._file.seek(start)
        content = self._file.read(count)
        if len(content) < count:
            raise _damaged("it ends too early") if start else _foreign()
        return content


def _header(block: bytes, *, is_first: bool) -> tarfile.TarInfo:
    try:
        about = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.TarError, ValueError):
        raise _foreign() if is_first else _damaged("a header cannot be read") from None
    if is_first and about.name != HEAD:
        raise _foreign()
    if about.type != tarfile.REGTYPE or about.size < 0 or not _NAME.fullmatch(about.name):
        raise BackupProblem(
            f"The backup holds {about.name[:80]!r}, which Drafthouse never writes. Something else made this file; do "
            "not use it."
        )
    return about


def _foreign() -> BackupProblem:
    return BackupProblem("This file is not a backup of Drafthouse. `./drafthouse backup FILE` makes one.")


@dataclass(frozen=True)
class BackupManifest:
    version: str
    made: datetime
    engine: str
    migrations: list[tuple[str, str]]
    tables: dict[str, dict[str, Any]]  # model → rows, bytes, sha256 of its content
    chunks: list[tuple[str, str, int]]  # team, SHA-256, size; in the order of the table
    where: dict[str, str]  # the store that the chunks come from
    has_chunks: bool  # False: they stayed in the bucket
    missing: list[str]  # chunks that the database names but the store lacked
    members: dict[str, tuple[int, str]]

    @classmethod
    def read(cls, content: bytes) -> BackupManifest:
        try:
            told = json.loads(content)
            return cls(
                version=str(told["version"])[:40],
                made=datetime.fromisoformat(told["made"]),
                engine=str(told["engine"]),
                migrations=[(str(app), str(name)) for app, name in told["migrations"]],
                tables={
                    str(model): {"rows": int(one["rows"]), "bytes": int(one["bytes"]), "sha256": str(one["sha256"])}
                    for model, one in told["tables"].items()
                },
                chunks=[(str(team), str(sha256), int(size)) for team, sha256, size in told["chunks"]],
                where={str(name): str(value) for name, value in told["where"].items()},
                has_chunks=bool(told["has_chunks"]),
                missing=[str(one) for one in told["missing"]],
                members={str(name): (int(size), str(sha256)) for name, (size, sha256) in told["members"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _damaged("its manifest cannot be read") from None

    def describe(self) -> str:
        """Summarize the backup for people."""
        width = max(map(len, self.tables), default=0)
        lines = [f"Backup of {self.made:%Y-%m-%d %H:%M} UTC, made by Drafthouse {self.version} on {self.engine}."]
        lines += [f"  {model:{width}} {one['rows']:>10,} rows" for model, one in self.tables.items() if one["rows"]]
        held = "" if self.has_chunks else f", not in the backup: they are in {' '.join(self.where.values())}"
        lines.append(
            f"  {'chunks of uploads':{width}} {len(self.chunks):>10,}, {self.chunk_bytes / 1024**2:.1f} MiB{held}"
        )
        if self.missing:
            lines.append(f"{len(self.missing)} chunks were missing in the store; the first is {self.missing[0]}.")
        return "\n".join(lines)

    @property
    def row_count(self) -> int:
        return sum(one["rows"] for one in self.tables.values())

    @property
    def table_bytes(self) -> int:
        return sum(one["bytes"] for one in self.tables.values())

    @property
    def chunk_bytes(self) -> int:
        return sum(size for _, _, size in self.chunks)
