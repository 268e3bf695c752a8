"""The address of the pages. The supervisor holds the socket itself, so while the web server is started again, browsers
wait instead of being refused."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from worker.supervisor.data_folder import Taken

DEFAULT = 8000
LISTENING = "0A"


def listen(host: str, port: int) -> socket.socket:
    """Port 0: the first free one from the default on."""
    for candidate in range(DEFAULT, DEFAULT + 100) if port == 0 else [port]:
        try:
            return _listen(host, candidate)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port == 0:
                continue
            if error.errno == errno.EADDRINUSE:
                raise Taken(
                    f"Port {port} is taken by {_holder(port)}. Start with --port 0 for the next free port, "
                    "or name one with --port."
                ) from None
            raise Taken(f"{host}:{port} cannot be listened on ({error.strerror}). Try --host 127.0.0.1.") from None
    raise Taken(f"No port from {DEFAULT} to {DEFAULT + 99} is free. Name one with --port.")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    return listener


def _holder(port: int) -> str:
    """Name the process that listens there, where the system lets us see it."""
    pid = process_at(port)
    try:
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return "another process"
    return f"process {pid} ({b' '.join(words).decode(errors='replace').strip()[:80]})"


def process_at(port: int) -> int | None:
    """Find the process that listens at a port of this machine; None if the system does not let us see it."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted & set(_open_in(process)):
                return int(process.name)
        except OSError:
            continue  # gone, or somebody else's
    return None


def _open_in(process: Path) -> Iterator[str]:
    """Yield what a process has open. A connection may be closed while we look."""
    for fd in (process / "fd").iterdir():
        with suppress(OSError):
            yield str(fd.readlink())


def _inodes(port: int) -> set[str]:
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if table.exists():
            for line in table.read_text().splitlines()[1:]:
                cells = line.split()
                if cells[3] == LISTENING and int(cells[1].rpartition(":")[2], 16) == port:
                    found.add(cells[9])
    return found
