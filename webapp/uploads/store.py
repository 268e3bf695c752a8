"""Where chunks lie. One folder per team; the name of a chunk is the SHA-256 of what is in it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from pathlib import Path
from typing import IO
from uuid import UUID, uuid4

from django.conf import settings

from webapp.core.problems import Invalid, Problem

PIECE = 256 * 1024


class StoreFull(Problem):
    status = 507
    code = "store-full"


def path(team_id: UUID, sha256: str) -> Path:
    return Path(settings.DATA_DIR) / "chunks" / str(team_id) / sha256[:2] / sha256


def put(team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
    """Copy the stream piece by piece; nothing stays unless it is exactly what its name says."""
    incoming = Path(settings.DATA_DIR) / "chunks" / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    part = incoming / uuid4().hex
    try:
        digest, count = _copy(stream, part, size)
        if count != size or digest != sha256:
            raise Invalid(
                f"The chunk {sha256} should have {size} bytes of that SHA-256; {count} bytes of {digest} came.",
                code="chunk-mismatch",
                hint="Send it again; if it stays, the file has changed since its manifest was made.",
            )
        final = path(team_id, sha256)
        final.parent.mkdir(parents=True, exist_ok=True)
        part.replace(final)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull("The server's disk is full.", hint="Tell the operator; what was sent is kept.") from None
        raise
    finally:
        part.unlink(missing_ok=True)


def delete(team_id: UUID, sha256: str) -> None:
    path(team_id, sha256).unlink(missing_ok=True)


def free_bytes() -> int:
    return shutil.disk_usage(settings.DATA_DIR).free


def _copy(stream: IO[bytes], part: Path, longest: int) -> tuple[str, int]:
    digest, count = hashlib.sha256(), 0
    with part.open("xb") as file:
        while piece := stream.read(PIECE):
            count += len(piece)
            if count > longest:
                break
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), count
