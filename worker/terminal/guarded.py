"""A command under a memory limit: its work runs in a child, and this process watches what the child takes.

A library may grow without ever letting Python run, so the one who watches must be another process. Signals reach the
work as if it were not there; what a killed command has half written is removed.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from worker import gauges, leash
from worker.memory import LOOK_EVERY, MemoryReader, OverLimit, limit
from worker.terminal.ending import WRONG, ended

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BY_THE_TERMINAL = 0x80  # SI_KERNEL: such a signal goes to the child as well, without us
TIME_TO_OBEY = 5.0  # s after TERM: a library that is at work hears no signal

_to_watcher: int | None = None  # in the child: the pipe on which it says what it may take


def command(work: Callable[[Sequence[str]], None]) -> NoReturn:
    """Be the command that does this work with the arguments of this process."""
    sys.exit(guarded(lambda: ended(work, sys.argv[1:])))


def guarded(work: Callable[[], int]) -> int:
    """Run `work` under a watcher and return its exit code. Call it before anything starts a thread."""
    # macOS: only what files may hold is bounded there. Without psutil a command can only show its --help.
    if not hasattr(signal, "sigtimedwait") or not gauges.HAS_PSUTIL:
        return work()
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, (*FORWARDED, signal.SIGCHLD))
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_watched(writing)
        return work()
    os.close(writing)
    os.set_blocking(reading, False)
    return _Watcher(child, reading).watch()


def allow(own: int) -> None:
    """Allow the command so many bytes from now on, and the headroom."""
    _send(f"limit {limit(own)}")


def spare(pid: int) -> None:
    """Exempt a program of the user's own, and all that it starts, from the limit."""
    _send(f"spare {pid}")


def writes(part: Path) -> None:
    """Name a file that is half written as long as the command runs."""
    _send(f"part {part}")


def _send(line: str) -> None:
    if _to_watcher is not None:
        with suppress(OSError):
            os.write(_to_watcher, f"{line}\n".encode(errors="surrogateescape"))


def _be_watched(writing: int) -> None:
    global _to_watcher
    _to_watcher = writing
    os.set_inheritable(writing, False)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))  # what is half written is removed
    leash.end_with_parent(signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*FORWARDED, signal.SIGCHLD))


class _Watcher:
    def __init__(self, child: int, messages: int) -> None:
        self._child = child
        self._messages = messages
        self._gauge = MemoryReader(child)
        self._limit = limit()
        self._obey_by = math.inf
        self._ended_by = 0  # the signal that told us to end
        self._parts: list[Path] = []

    def watch(self) -> int:
        """Wait until the child has ended, and return its exit code."""
        while (code := self._code()) is None:
            self._listen()
            if self._gauge.largest() > self._limit:
                os.kill(self._child, signal.SIGKILL)
                os.waitpid(self._child, 0)
                self._clean()
                print(OverLimit("The command", self._limit), file=sys.stderr)
                return WRONG
            heard = signal.sigtimedwait((*FORWARDED, signal.SIGCHLD), LOOK_EVERY)
            if heard and heard.si_signo in FORWARDED and heard.si_code != BY_THE_TERMINAL:
                os.kill(self._child, heard.si_signo)
            if heard and heard.si_signo in (signal.SIGTERM, signal.SIGHUP):
                self._ended_by, self._obey_by = heard.si_signo, time.monotonic() + TIME_TO_OBEY
        return code

    def _code(self) -> int | None:
        if time.monotonic() > self._obey_by:
            os.kill(self._child, signal.SIGKILL)
        pid, status = os.waitpid(self._child, os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return code
        self._listen()
        self._clean()
        return 128 + (self._ended_by or -code)

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            for line in os.read(self._messages, 1 << 16).decode(errors="surrogateescape").splitlines():
                match line.split(" ", 1):
                    case ["limit", value]:
                        self._limit = int(value)
                    case ["spare", value]:
                        self._gauge.spare(int(value))
                    case ["part", value]:
                        self._parts.append(Path(value))

    def _clean(self) -> None:
        for part in self._parts:
            part.unlink(missing_ok=True)
