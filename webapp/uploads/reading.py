"""Read an uploaded file: seekable, from its chunks, never whole in memory."""

from __future__ import annotations

import io
from uuid import UUID

from django.conf import settings

from webapp.core.problems import Invalid
from webapp.uploads import store
from webapp.uploads.models import UploadedFile

READ_AHEAD = 256 * 1024  # parsers ask for a few bytes at a time, and a store may be far away
LONGEST_READ = 64 * 1024 * 1024  # only a false header makes a parser ask for more at once


class TooMuchAtOnce(Exception):
    pass


class FileReader(io.RawIOBase):
    longest_read = LONGEST_READ

    def __init__(self, file: UploadedFile, team_id: UUID) -> None:
        self.size = file.size
        self._chunks: list[str] = file.chunks
        self._team_id = team_id
        self._at = 0
        self._block, self._block_at = b"", 0  # the last block read, and its position in the file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self.size - self._at)
        wanted = left if size < 0 else min(size, left)
        if wanted > self.longest_read:
            raise TooMuchAtOnce(f"{wanted} bytes at once")
        pieces = []
        while wanted:
            piece = self._next(wanted)
            pieces.append(piece)
            self._at += len(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    def _next(self, wanted: int) -> bytes:
        """Return the next bytes: at least one, and none from beyond this chunk."""
        start = self._at - self._block_at
        if not 0 <= start < len(self._block):
            index, offset = divmod(self._at, settings.CHUNK_BYTES)
            count = min(max(wanted, READ_AHEAD), settings.CHUNK_BYTES - offset)
            self._block = store.current().read(self._team_id, self._chunks[index], offset, count)
            self._block_at, start = self._at, 0
            if not self._block:
                raise OSError(f"the chunk {self._chunks[index]} is shorter than its manifest says")
        return self._block[start : start + wanted]

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self.read(min(len(buffer), self.longest_read))
        buffer[: len(piece)] = piece
        return len(piece)


def whole(file: UploadedFile, team_id: UUID, *, longest: int) -> bytes:
    """Read a small file at once, with a bound."""
    if file.size > longest:
        raise Invalid(f"{file.path} has {file.size} bytes; such a file may have at most {longest}.")
    return FileReader(file, team_id).read()
