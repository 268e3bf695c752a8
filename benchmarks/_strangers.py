"""Service for fuzzing that treats each request as from another address. Otherwise the limit on wrong tokens, which
counts by address, would hide everything else. Run by `./drafthouse bench fuzz`."""

from __future__ import annotations

from ipaddress import IPv4Address
from itertools import count
from typing import Any

from webapp.config.asgi import application as service

FIRST = int(IPv4Address("10.0.0.0"))
_numbers = count()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        scope = {**scope, "client": (str(IPv4Address(FIRST + next(_numbers) % 2**24)), 1)}
    await service(scope, receive, send)
