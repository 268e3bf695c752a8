"""Start a server of models from a command, wait until it is healthy, and end it so that nothing is left."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from decoding.errors import BadServer
from worker import leash
from worker.evidence import how_it_ended
from worker.supervisor.probes import status_of

PORT = "{port}"
HOST = "127.0.0.1"
TIME_TO_START = 600.0  # s: a large model takes its time to load
TIME_TO_END = 10.0  # s after TERM
TIME_TO_VANISH = 1.0  # s after KILL
LOOK_EVERY = 0.1  # s
LAST_LINES = 8


class StartedServer:
    """A server that belongs to this process. Start it from the main thread: Linux ends it with that thread."""

    def __init__(self, name: str, command: Sequence[str], health: str) -> None:
        program = shutil.which(command[0])
        if program is None:
            raise BadServer(f"There is no program {command[0]} on this machine. Install it, or give its whole path.")
        self.name = name
        self.port = _free_port()
        self._health = health
        handle, path = tempfile.mkstemp(prefix=f"drafthouse-{name}-", suffix=".log")
        self.log = Path(path)
        words = [word.replace(PORT, str(self.port)) for word in command[1:]]
        with os.fdopen(handle, "wb") as log:
            command = [sys.executable, "-P", "-m", "worker.leash", leash.FAMILY, program, *words]
            self._process = leash.start(command, stdout=log, stderr=subprocess.STDOUT)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}"

    def wait(self, cancelled: Callable[[], bool]) -> None:
        """Wait until it answers that it is healthy."""
        deadline = time.monotonic() + TIME_TO_START
        while status_of(f"{self.address}{self._health}", 5) != 200:
            code = self._process.poll()
            if code is not None:
                raise BadServer(f"{self.name} {how_it_ended(code)} before it answered. It said last:\n{self._words()}")
            if cancelled():
                raise KeyboardInterrupt
            if time.monotonic() > deadline:
                raise BadServer(f"{self.name} is not ready after {TIME_TO_START:g} s. It said last:\n{self._words()}")
            time.sleep(LOOK_EVERY)

    def end(self) -> None:
        """End it and all that it has started, and remove its log."""
        leash.end(self._process, TIME_TO_END)
        deadline = time.monotonic() + TIME_TO_VANISH
        while leash.signal_group(self._process, 0) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.log.unlink(missing_ok=True)

    def _words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(line[:300] for line in lines) or "(nothing)"


@contextmanager
def started(
    name: str, command: Sequence[str], health: str, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[StartedServer]:
    server = StartedServer(name, command, health)
    try:
        server.wait(cancelled)
        yield server
    finally:
        server.end()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])
