"""A web process on a database, with nothing else of Drafthouse."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def web(database: str, data: Path) -> Iterator[str]:
    """Start it, and return its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        command = [sys.executable, "-m", "webapp.config.server", "--fd", str(listener.fileno())]
        environment = {**os.environ, "DATABASE_URL": database, "DRAFTHOUSE_DATA": str(data), "REDIS_URL": ""}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[listener.fileno()])
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            process.terminate()
            process.wait()
