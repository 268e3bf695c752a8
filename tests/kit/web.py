"""A web process on a database, with nothing else of Drafthouse, and the database it needs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).parents[2]

PREPARE = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from webapp.accounts import actor, services
from webapp.accounts.models import Scope
by = actor.of_user(services.first_owner())
print(services.create_token(name="script", scope=Scope.SUBMIT, days=1, by=by)[1])
"""


def prepare(database: str, data: Path) -> str:
    """Make tables and an owner in a new database, in one process for all of it, and return a token of the owner's."""
    command = [sys.executable, "-c", PREPARE]
    environment = {**os.environ, "DATABASE_URL": database, "DRAFTHOUSE_DATA": str(data)}
    said = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return said.stdout.splitlines()[-1]


@contextmanager
def web(database: str, data: Path, log: Path | None = None, **more: str) -> Iterator[str]:
    """Start it with more of an environment, and return its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("ab") if log else nullcontext() as out:
        command = [sys.executable, "-m", "webapp.config.server", "--fd", str(listener.fileno())]
        environment = {**os.environ, "DATABASE_URL": database, "DRAFTHOUSE_DATA": str(data), "REDIS_URL": "", **more}
        fds = [listener.fileno()]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=fds, stdout=out, stderr=out)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            process.terminate()
            process.wait()
