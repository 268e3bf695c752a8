"""The address of the pages. The supervisor holds the socket itself, so while the web server is started again, browsers
wait instead of being refused."""

from __future__ import annotations

import errno
import socket

from worker import gauges
from worker.supervisor.data_folder import Taken

DEFAULT = 8000


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
    pid = gauges.process_at(port)
    return f"process {pid} ({gauges.command_of(pid)[:80]})" if pid else "another process"
