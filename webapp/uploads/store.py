"""The store of chunks: a folder, or a bucket that speaks S3. The name of a chunk is the SHA-256 of its content."""

from __future__ import annotations

import functools
import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import IO, Protocol
from uuid import UUID, uuid4

from django.conf import settings
from django.utils import timezone

from webapp.core.disk import is_disk_full
from webapp.core.problems import Invalid, Problem

PIECE = 256 * 1024
UNSETTLED = timedelta(days=1)  # anything that never became a chunk is deleted after this time


class StoreTrouble(Problem):
    """An error of the store, not of the content: the same may succeed later."""


class StoreFull(StoreTrouble):
    status = 507
    code = "store-full"


class StoreAway(StoreTrouble):
    status = 503
    code = "store-away"


class Store(Protocol):
    def put(self, team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
        """Store a chunk. Nothing stays unless its content matches its name."""

    def read(self, team_id: UUID, sha256: str, start: int, count: int) -> bytes:
        """Read part of a chunk that is here. Less than `count` comes only at its end."""

    def delete(self, team_id: UUID, sha256: str) -> None: ...

    def offer(self, team_id: UUID, sha256: str, size: int) -> str:
        """Return the address where a client may PUT this chunk without going through us; empty if there is none."""

    def settle(self, team_id: UUID, sha256: str, size: int) -> bool:
        """Take the chunk that a client has PUT there. False if nothing came."""

    def sweep(self) -> None:
        """Delete what arrived and was not taken for a day."""

    def told(self) -> dict[str, str]:
        """Describe the store for an operator."""


def current() -> Store:
    if settings.S3_BUCKET:
        return _s3(settings.S3_BUCKET, settings.S3_ENDPOINT, settings.S3_PUBLIC_ENDPOINT, settings.S3_REGION)
    return Folder(Path(settings.STORE_DIR or Path(settings.DATA_DIR) / "chunks"))


@functools.cache
def _s3(bucket: str, endpoint: str, public_endpoint: str, region: str) -> Store:
    from webapp.uploads.s3 import Bucket  # imported late: it takes a second, and most installations never need it

    return Bucket(bucket, endpoint, public_endpoint, region)


class Folder:
    """One folder per team."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.incoming = root / "incoming"

    def put(self, team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
        self.incoming.mkdir(parents=True, exist_ok=True)
        part = self.incoming / uuid4().hex
        try:
            with part.open("xb") as file:
                copy(stream, file, sha256, size)
                file.flush()
                os.fsync(file.fileno())
            final = self._path(team_id, sha256)
            final.parent.mkdir(parents=True, exist_ok=True)
            part.replace(final)
        except OSError as error:
            if is_disk_full(error):
                hint = "Tell the operator; what was sent is kept."
                raise StoreFull("The server's disk is full.", hint=hint) from None
            raise
        finally:
            part.unlink(missing_ok=True)

    def read(self, team_id: UUID, sha256: str, start: int, count: int) -> bytes:
        with self._path(team_id, sha256).open("rb") as chunk:
            chunk.seek(start)
            return chunk.read(count)

    def delete(self, team_id: UUID, sha256: str) -> None:
        self._path(team_id, sha256).unlink(missing_ok=True)

    def offer(self, team_id: UUID, sha256: str, size: int) -> str:
        return ""

    def settle(self, team_id: UUID, sha256: str, size: int) -> bool:
        return False

    def sweep(self) -> None:
        oldest = (timezone.now() - UNSETTLED).timestamp()
        for part in self.incoming.glob("*"):
            if part.stat().st_mtime < oldest:
                part.unlink(missing_ok=True)

    def told(self) -> dict[str, str]:
        return {"kind": "folder"}

    def _path(self, team_id: UUID, sha256: str) -> Path:
        return self.root / str(team_id) / sha256[:2] / sha256


def copy(stream: IO[bytes], file: IO[bytes], sha256: str, size: int) -> None:
    """Copy piece by piece. Raise Invalid unless size and hash match."""
    digest, count = hashlib.sha256(), 0
    while count <= size and (piece := stream.read(PIECE)):
        count += len(piece)
        digest.update(piece)
        if count <= size:
            file.write(piece)
    require_same(sha256, size, digest.hexdigest(), count)


def require_same(sha256: str, size: int, digest: str, count: int) -> None:
    if count != size or digest != sha256:
        raise Invalid(
            f"The chunk {sha256} should have {size} bytes of that SHA-256; {count} bytes of {digest} came.",
            code="chunk-mismatch",
            hint="Send it again; if it stays, the file has changed since its manifest was made.",
        )
