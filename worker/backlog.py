"""Queue of the engine's reports that the database has not yet taken. It lies in memory while it is small, then on disk,
and in memory again if the disk is full. Putting a report in never waits: a missing database never delays decoding."""

from __future__ import annotations

import tempfile
import threading
from collections import deque
from typing import IO

IN_MEMORY = 8 * 1024 * 1024  # bytes


class Backlog:
    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._line: deque[bytes | int] = deque()  # messages, or how long each is that lies in the file
        self._memory_bytes = 0
        self._file: IO[bytes] | None = None
        self._read_at = self._write_at = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def put(self, message: bytes) -> None:
        with self._changed:
            if self._memory_bytes + len(message) > self._limit and self._is_on_disk(message):
                self._line.append(len(message))
            else:
                self._line.append(message)
                self._memory_bytes += len(message)
            self._changed.notify()

    def close(self) -> None:
        """Say that nothing will follow."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def get(self, timeout: float) -> bytes | None:
        """The oldest message; None when there is none in time, or none ever again. `is_over` tells which."""
        with self._changed:
            self._changed.wait_for(lambda: self._line or self._is_closed, timeout)
            if not self._line:
                return None
            first = self._line.popleft()
            if isinstance(first, int):
                return self._from_disk(first)
            self._memory_bytes -= len(first)
            return first

    @property
    def is_over(self) -> bool:
        with self._changed:
            return self._is_closed and not self._line

    def _is_on_disk(self, message: bytes) -> bool:
        """Write a report to disk. The next one overwrites a report that a full disk took only in part."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  it is closed when it is read out
            self._file.seek(self._write_at)
            if self._file.write(message) < len(message):
                return False
        except OSError:
            return False
        self._write_at += len(message)
        return True

    def _from_disk(self, length: int) -> bytes:
        assert self._file is not None
        self._file.seek(self._read_at)
        message = self._file.read(length)
        self._read_at += length
        if self._read_at == self._write_at:
            self._file.close()
            self._file, self._read_at, self._write_at = None, 0, 0
        return message
