"""A private PostgreSQL server on a Unix socket. A test that knows its folder can stop it and start it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlsplit

from tests.programs import POSTGRES, locate, not_root


class Server:
    """A server. Under root it runs as `nobody`, because PostgreSQL refuses to be run by root."""

    def __init__(self, home: Path, port: int = 0) -> None:
        """With a port it can be reached over TCP too, from this machine."""
        self.home = home
        self.port = port
        if (programs := locate(POSTGRES)) is None:
            raise LookupError(f"{POSTGRES.missing}. {POSTGRES.advice}")
        self._programs = programs
        self.url = self._url_of("postgres")
        self._as_user = not_root()

    @classmethod
    def made(cls, port: int = 0, home: Path | None = None) -> Server:
        """In a new folder: of no name, or of this one."""
        if home is None:
            home = Path(mkdtemp(prefix="dh-pg-", dir="/tmp"))  # short: a socket's path may have some hundred characters
        else:
            home.mkdir(mode=0o700)
        server = cls(home, port)
        if server._as_user:
            os.chown(server.home, server._as_user["user"], server._as_user["group"])
        options = ["--auth=trust", "--username=drafthouse", "--no-sync", "--encoding=UTF8", "--locale=C"]
        command = [str(server._programs / "initdb"), "-D", str(server.home / "data"), *options]
        subprocess.run(command, check=True, capture_output=True, **server._as_user)
        return server

    def database(self, like: str = "") -> str:
        """Make a database, empty or a copy of the one with this URL, and return its URL."""
        import psycopg  # a machine that only decodes has none

        name = f"lab_{uuid.uuid4().hex[:8]}"
        template = f"TEMPLATE {urlsplit(like).path[1:]}" if like else ""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {template}")
        return self._url_of(name)

    def start(self) -> None:
        where = f"-c listen_addresses=127.0.0.1 -c port={self.port}" if self.port else "-c listen_addresses="
        settings = f"{where} -c unix_socket_directories={self.home} -c fsync=off"
        self._control("start", "-l", self.home / "log", "-o", settings)

    def stop(self) -> None:
        """As an administrator does it: whoever is connected is cut off."""
        if self.is_running:
            self._control("stop", "-m", "fast")

    def crash(self) -> None:
        """As if it were killed: nothing is written down, and it recovers when it starts."""
        self._control("stop", "-m", "immediate")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Connections are accepted by the system, and nobody is there to speak."""
        main = int((self.home / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        family = [main, *map(int, children)]
        _tell(family, signal.SIGSTOP)
        try:
            yield
        finally:
            _tell(family, signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return (self.home / "data" / "postmaster.pid").exists()

    def remove(self) -> None:
        if self.is_running:
            self.crash()  # nobody needs what a clean end would write down
        shutil.rmtree(self.home)

    def _url_of(self, database: str) -> str:
        return f"postgres://drafthouse@/{database}?host={self.home}"

    def _control(self, *arguments: str | Path) -> None:
        """It comes back when the server has started, or stopped."""
        command = [self._programs / "pg_ctl", "-D", self.home / "data", "-w", "-s", *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False, **self._as_user)
        assert done.returncode == 0, (self.home / "log").read_text()


def _tell(family: list[int], what: signal.Signals) -> None:
    for number in family:
        with suppress(ProcessLookupError):  # a backend ends with its client
            os.kill(number, what)
