"""A worker on another machine: of the first it has the addresses of broker, database and store, and a data folder of
its own. Here the other machine is another process, and the addresses are this machine's, over TCP."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.kit.postgres import Server
from tests.kit.up import DEADLINE, ROOT, Up, add_pair, environment, launched, until
from worker.supervisor import valkey

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


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


@pytest.fixture
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "store").mkdir()
    own, port = free_ports(2)
    server = Server.made(own)
    command = list(valkey.broker(folder).command)
    command[command.index("--port") + 1] = str(port)
    broker = subprocess.Popen([*command, "--bind", "127.0.0.1"], env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        server.start()
        yield {
            "DATABASE_URL": f"postgres://drafthouse@127.0.0.1:{server.port}/postgres",
            "REDIS_URL": f"redis://127.0.0.1:{port}/0",
            "DRAFTHOUSE_STORE": str(folder / "store"),
        }
    finally:
        server.remove()
        broker.kill()
        broker.wait()


@pytest.fixture
def up(addresses: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The first machine: pages and scheduler, and no worker."""
    up = Up(tmp_path_factory.mktemp("web"), "--workers", "0", **addresses).wait()
    add_pair(up, tmp_path_factory.mktemp("pair"))
    yield up
    up.interrupt()


@contextmanager
def worker_elsewhere(up: Up, addresses: dict[str, str], data: Path) -> Iterator[Path]:
    """Start it with a data folder of its own, and yield the file of what it says."""
    command = [sys.executable, "-P", "-m", "worker", "--queue", "cpu", "--name", "far"]
    said = data / "said.txt"
    with (
        said.open("w") as log,
        subprocess.Popen(command, env=environment(data, **addresses), cwd="/", stdout=log, stderr=log) as worker,
    ):
        yield said
        worker.send_signal(signal.SIGTERM)


def test_three_addresses_are_enough_and_weights_are_fetched_once(up: Up, addresses, tmp_path: Path) -> None:
    token = up.token()
    first = launched(up, token, limit=2)
    assert "No worker listens on `cpu`" in up.call(f"jobs/{first['job']['id']}/", token)["place"]["reason"]
    with worker_elsewhere(up, addresses, tmp_path) as said:
        job = up.end_of(first, token)
        assert (job["state"], job["worker"]) == ("succeeded", "far"), job["reason"] + said.read_text()
        kept = {path.name: path.stat().st_ino for path in (tmp_path / "models").iterdir()}
        assert len(kept) == 2 and not (up.data / "models").exists() and not (tmp_path / "chunks").exists()
        Path(addresses["DRAFTHOUSE_STORE"]).rename(tmp_path / "hidden")  # nothing more can be fetched from there
        again = up.end_of(launched(up, token, limit=1), token)
    assert again["state"] == "succeeded", again["reason"]
    assert {path.name: path.stat().st_ino for path in (tmp_path / "models").iterdir()} == kept


def test_the_first_start_waits_for_a_database_that_is_still_starting(tmp_path: Path) -> None:
    server = Server.made(*free_ports(1))
    url = f"postgres://drafthouse@127.0.0.1:{server.port}/postgres"
    env = environment(tmp_path, DATABASE_URL=url, REDIS_URL="")
    command = [sys.executable, "-P", "-m", "worker.supervisor.prepare"]
    log = tmp_path / "said.txt"
    try:
        with log.open("w") as said, subprocess.Popen(command, env=env, stdout=said, stderr=said) as prepare:
            until(lambda: "the database does not answer" in log.read_text(), "the start to notice")
            server.start()
            assert prepare.wait(DEADLINE) == 0, log.read_text()
        assert "the database answers again" in log.read_text()
    finally:
        server.remove()
