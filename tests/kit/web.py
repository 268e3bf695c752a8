"""A web process on a database, with nothing else of Drafthouse, and the database it needs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tests.kit.processes import DEADLINE

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


def ask(address: str, token: str = "dh_a.b", body: Any = None, host: str = "localhost") -> tuple[int, str]:
    """Return status and body of an answer."""
    headers = {"Authorization": f"Bearer {token}", "Host": host, "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode() if body else None, headers)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
