"""What the engine has said and the database has not yet taken: first in, first out, in memory as long as it is little,
on disk beyond that. Putting something in never waits, so a database that is away never holds up decoding."""

from __future__ import annotations

import struct
import tempfile
import threading
from collections import deque
from contextlib import suppress
from typing import IO

IN_MEMORY = 8 * 1024 * 1024  # bytes
LENGTH = struct.Struct("<I")


class Backlog:
    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._memory: deque[bytes] = deque()
        self._memory_bytes = 0
        self._file: IO[bytes] | None = None  # younger than all that is in memory
        self._read_at = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, message: bytes) -> None:
        with self._changed:
            if self._file is None and self._memory_bytes + len(message) > self._limit:
                self._spill()
            if self._file is None:
                self._memory.append(message)
                self._memory_bytes += len(message)
            else:
                self._file.seek(0, 2)
                self._file.write(LENGTH.pack(len(message)) + message)
            self._changed.notify()

    def close(self) -> None:
        """Nothing will follow."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def get(self, timeout: float) -> bytes | None:
        """The oldest message; None when there is none in time, or none ever again. `is_over` tells which."""
        with self._changed:
            self._changed.wait_for(lambda: self._memory or self._file or self._is_closed, timeout)
            if self._memory:
                message = self._memory.popleft()
                self._memory_bytes -= len(message)
                return message
            return self._from_file() if self._file else None

    @property
    def is_over(self) -> bool:
        with self._changed:
            return self._is_closed and not self._memory and self._file is None

    def _spill(self) -> None:
        with suppress(OSError):  # without a disk, memory has to do
            self._file, self._read_at = tempfile.TemporaryFile(), 0  # noqa: SIM115  it is closed when it is read out

    def _from_file(self) -> bytes:
        assert self._file is not None
        self._file.seek(self._read_at)
        (length,) = LENGTH.unpack(self._file.read(LENGTH.size))
        message = self._file.read(length)
        self._read_at = self._file.tell()
        if not self._file.read(1):
            self._file.close()
            self._file = None
        return message
