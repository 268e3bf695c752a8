"""Chunks in a folder of this machine, one folder below it per team."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO
from uuid import UUID, uuid4

from django.utils import timezone

from webapp.core import modes
from webapp.core.disk import is_disk_full
from webapp.uploads.storing import TRIAL, UNSETTLED, StoreAway, StoreFull, copy

WRITABLE = "Have the operator make room, or give it to the user that runs Drafthouse."


class FolderStore:
    def __init__(self, root: Path, mode: int = modes.FILE) -> None:
        """`mode` is for new chunks."""
        self.root, self.mode = root, mode
        self.incoming = root / "incoming"

    def put(self, team_id: UUID, sha256: str, size: int, stream: IO[bytes]) -> None:
        self.incoming.mkdir(parents=True, exist_ok=True)
        part = self.incoming / uuid4().hex
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode), "wb") as file:
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

    def ask(self) -> None:
        there = next(folder for folder in (self.root, *self.root.parents) if folder.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise StoreAway("The folder of uploads cannot be written.", hint=WRITABLE)

    def try_out(self) -> None:
        part = self.incoming / uuid4().hex
        try:
            self.incoming.mkdir(parents=True, exist_ok=True)
            part.write_bytes(TRIAL)
            if part.read_bytes() != TRIAL:
                raise StoreAway("The folder of uploads returns other bytes than were written.", hint="Check its disk.")
            part.unlink()
        except OSError as error:
            raise StoreAway(f"The folder of uploads cannot be written ({error.strerror}).", hint=WRITABLE) from None

    def told(self) -> dict[str, str]:
        return {"kind": "folder"}

    def _path(self, team_id: UUID, sha256: str) -> Path:
        return self.root / str(team_id) / sha256[:2] / sha256
