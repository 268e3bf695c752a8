"""Interface of a chunk store, and the checks that all stores share. A chunk's name is the SHA-256 of its content."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import IO, Protocol
from uuid import UUID

from webapp.core.problems import Invalid, Problem

PIECE = 256 * 1024
TRIAL = b"written, read and deleted to try the store"
UNSETTLED = timedelta(days=1)  # the store deletes a file that never became a chunk after this long


class StoreTrouble(Problem):
    """A fault of the store, not of the chunk: sending it again may succeed."""


class StoreFull(StoreTrouble):
    status = 507
    code = "store-full"


class StoreAway(StoreTrouble):
    status = 503
    code = "store-away"


class Store(Protocol):
    def put(self, team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
        """Keep a chunk, or nothing if size or SHA-256 differ."""

    def read(self, team_id: UUID, sha256: str, start: int, count: int) -> bytes:
        """Read part of a chunk; fewer bytes than `count` only at its end."""

    def delete(self, team_id: UUID, sha256: str) -> None: ...

    def offer(self, team_id: UUID, sha256: str, size: int) -> str:
        """Address to which a client may PUT this chunk without us; empty if this store has none."""

    def settle(self, team_id: UUID, sha256: str, size: int) -> bool:
        """Keep the chunk that a client PUT there. False if there is none."""

    def sweep(self) -> None:
        """Delete files that came more than a day ago and never became chunks."""

    def ask(self) -> None:
        """Raise StoreTrouble if the store does not answer within a second or two, or would keep nothing."""

    def try_out(self) -> None:
        """Write, read and delete a few bytes. Raise StoreTrouble if the store does not do it."""

    def told(self) -> dict[str, str]:
        """Describe the store for an operator."""


def copy(stream: IO[bytes], file: IO[bytes], sha256: str, size: int) -> None:
    """Copy piece by piece; raise Invalid if size or SHA-256 differ."""
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
