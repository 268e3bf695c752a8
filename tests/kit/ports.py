"""Ports for servers that cannot be told to take any."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return ports below those that the system gives to clients, any of which could take one before the server does."""
    with ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            port = random.randrange(20_000, 32_000)
            with suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
        return found
