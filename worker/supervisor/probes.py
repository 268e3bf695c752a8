"""Questions by which the supervisor tells whether a child still does its work. A process may live and answer nobody."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

BROKER_TIMEOUT = 2.0  # s
WEB_TIMEOUT = 5.0  # s


@dataclass(frozen=True)
class Probe:
    """Asked every so many seconds. After so many misses in a row the child is ended, and then started again."""

    is_well: Callable[[], bool]
    every_s: float
    misses: int


def of_broker(path: Path) -> Probe:
    """Ask the broker as clients do: by the socket's path, which may be gone while the process lives."""
    return Probe(lambda: _broker_answers(str(path)), every_s=2.0, misses=2)


def of_web(address: str) -> Probe:
    """A minute of patience: pages that are only slow must not be ended for that."""
    return Probe(lambda: status_of(f"{address}/healthz", WEB_TIMEOUT) > 0, every_s=10.0, misses=6)


def _broker_answers(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(BROKER_TIMEOUT)
            line.connect(path)
            line.sendall(b"PING\r\n")
            return bool(line.recv(64))  # one that loads its data says so
    except OSError:
        return False


def status_of(url: str, timeout: float) -> int:
    """Return the status of a page of a server here; 0 if there is no answer. No proxy of the environment is asked."""
    parts = urlsplit(url)
    line = HTTPConnection(parts.hostname or "localhost", parts.port, timeout=timeout)
    try:
        line.request("GET", parts.path)
        return line.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        line.close()
