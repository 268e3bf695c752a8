"""Drafthouse as benchmarks run it: in a temporary data folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from tests.kit.postgres import Server
from tests.kit.up import Up

LINE = re.compile(r"drafthouse\.request (?P<what>\S+ \S+) (?P<status>\d+) (?P<ms>\d+)ms (?P<id>\S+)")


@contextmanager
def place(*, postgres: bool = False, kept: Path | None = None) -> Iterator[Path]:
    """Prepare a folder and a migrated database, on SQLite or a PostgreSQL of its own, which this process uses too.
    Deletes both at the end, unless the folder is kept."""
    with ExitStack() as leaving:
        if kept is None:
            folder = Path(mkdtemp(prefix="dh-bench-"))
            leaving.callback(shutil.rmtree, folder)
        else:
            folder = kept.resolve()
            folder.mkdir(parents=True, exist_ok=True)
        os.environ |= {"DRAFTHOUSE_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
        os.environ |= {"REDIS_URL": "", "DRAFTHOUSE_SERVERS": "localhost,127.0.0.0/8,::1"}
        os.environ.pop("DATABASE_URL", None)
        if postgres:
            home = folder / "postgres"
            server = Server(home) if home.exists() else Server.made(home=None if kept is None else home)
            leaving.callback(server.remove if kept is None else server.stop)
            server.start()
            os.environ["DATABASE_URL"] = server.url
        import django
        from django.core.management import call_command
        from django.db import connections

        django.setup()
        leaving.callback(connections.close_all)
        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        yield folder


@contextmanager
def serving(folder: Path, *, workers: int = 0) -> Iterator[Up]:
    """Start all of `./drafthouse up`. Without workers nobody takes submitted jobs."""
    database = {name: os.environ[name] for name in ("DATABASE_URL",) if name in os.environ}
    up = Up(folder, "--workers", str(workers), **database)
    try:
        yield up.wait()
    finally:
        if up.process.poll() is None:
            up.interrupt()


class Web:
    """Web process, as the operating system sees it."""

    def __init__(self, up: Up) -> None:
        self.pid = up.pid_of("supervisor.web")

    def cpu_s(self) -> dict[int, float]:
        """Processor seconds by process id: the web process, and the PostgreSQL server processes that it talks to."""
        from django.db import connection

        pids = [self.pid]
        if connection.vendor == "postgresql":
            head = Path(connection.settings_dict["OPTIONS"]["host"], "data", "postmaster.pid").read_text().split()[0]
            children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
            pids += [int(pid) for pid in children if "drafthouse" in Path(f"/proc/{pid}/cmdline").read_text()]
        return {
            pid: time.clock_gettime(~pid << 3 | 2) for pid in pids
        }  # clock id of each process, as from clock_getcpuclockid

    def memory_mib(self, which: str = "VmRSS") -> float:
        """Memory in MiB: `VmRSS` is the present size, `VmHWM` the largest so far, `RssAnon` the present size without
        files that are mapped, such as the database's, which each connection maps again."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split(f"{which}:")[1].split()[0]) / 1024


def load() -> str:
    """Load of the machine, to print beside figures."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def verdict(name: str, figure: float, bar: float) -> bool:
    print(f"{'ok  ' if figure <= bar else 'MISS'} {name:72} {figure:8.1f}   bar ≤ {bar:g}")
    return figure <= bar
