"""`/readyz` tells the truth, soon, whatever part is away."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.webapp.live.conftest import valkey  # noqa: F401
from tests.webapp.postgres import Server
from tests.webapp.test_on_postgres import web
from webapp.config import readiness

GENEROUS = 30  # s; the bar is 2, which benchmarks measure on a quiet machine


def parts(told: dict[str, Any]) -> dict[str, bool]:
    return {name: part["ok"] for name, part in told["parts"].items()}


def test_all_is_well_and_every_part_says_so(db, client):
    told = client.get("/readyz").json()
    assert told == {
        "ready": True,
        "reason": "",
        "parts": {"database": {"ok": True, "reason": ""}, "disk": {"ok": True, "reason": ""}},
    }


# The disk ------------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_nearly_full_is_told_with_what_to_do(db, client, settings):
    settings.LEAST_FREE_BYTES = 1 << 60
    answer = client.get("/readyz")
    assert (answer.status_code, parts(answer.json())) == (503, {"database": True, "disk": False})
    assert "MiB are free on the disk of the data folder" in answer.json()["reason"]
    assert answer.json()["reason"].endswith("Free some space, or move it to a larger disk.")


def test_a_disk_that_is_full_is_told(db, client, settings, tiny_disk):
    settings.DATA_DIR = tiny_disk
    settings.LEAST_FREE_BYTES = 1024**2
    assert client.get("/readyz").status_code == 200
    with suppress(OSError):
        (tiny_disk / "filling").write_bytes(b"x" * 16 * 1024**2)
    assert parts(client.get("/readyz").json()) == {"database": True, "disk": False}


# The broker ----------------------------------------------------------------------------------------------------------


def test_a_broker_that_answers_is_told(db, client, settings, valkey):  # noqa: F811
    settings.REDIS_URL = valkey
    assert parts(client.get("/readyz").json())["broker"] is True


def test_a_broker_whose_socket_is_gone_is_told(db, client, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    told = client.get("/readyz").json()
    assert parts(told) == {"database": True, "broker": False, "disk": True}
    assert told["reason"] == "The broker does not answer (ConnectionError)."


def test_a_broker_that_is_paused_is_told_and_asked_by_one_thread_alone(db, client, settings, silent):
    settings.REDIS_URL = f"unix://{silent}"
    before = threading.active_count()
    for _ in range(2):
        asked = [readiness.PARTS[1].ask() for _ in range(50)]
        assert len(set(map(id, asked))) == 1 and threading.active_count() <= before + 1
        told = client.get("/readyz").json()
        assert parts(told) == {"database": True, "broker": False, "disk": True}
        asked[0].result(GENEROUS)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Path]:
    """Make a socket where everybody is accepted and nobody is answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent.sock"))
        listener.listen(100)
        yield tmp_path / "silent.sock"


# The database --------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server.made()
    server.start()
    yield server
    server.remove()


@contextmanager
def paused(server: Server) -> Iterator[None]:
    """Connections are accepted by the system, and nobody is there to speak."""
    main = int((server.home / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    family = [main, *map(int, children)]
    _tell(family, signal.SIGSTOP)
    try:
        yield
    finally:
        _tell(family, signal.SIGCONT)


def _tell(family: list[int], what: signal.Signals) -> None:
    for number in family:
        with suppress(ProcessLookupError):  # a backend ends with its client
            os.kill(number, what)


def ask(address: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=GENEROUS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


@pytest.mark.postgres
def test_a_database_without_tables_or_paused_or_stopped_is_told_each_by_its_sentence(server, tmp_path):
    with web(server.url, tmp_path) as address:
        for _ in range(25):  # more than the pool has connections: none is kept
            status, told = ask(address)
            assert (status, parts(told)["database"]) == (503, False) and "migrations are not applied" in told["reason"]
        with psycopg.connect(server.url) as looking:
            (others,) = looking.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()"
            ).fetchone() or (0,)
        assert others < 3
        with ThreadPoolExecutor(40) as readers, paused(server):  # in this order: who reads waits until it goes on
            stuck = [readers.submit(page, address) for _ in range(40)]  # more than take turns at once
            told = ask(address)[1]
            assert not any(reader.done() and reader.result() == 200 for reader in stuck)
            assert told["parts"]["database"]["reason"].startswith("The database does not answer")
            with urllib.request.urlopen(f"{address}/healthz", timeout=GENEROUS) as answer:
                assert answer.read() == b"ok\n"
        server.stop()
        assert ask(address)[1]["parts"]["database"]["reason"] == "The database does not answer (OperationalError)."


def page(address: str) -> int:
    try:
        with urllib.request.urlopen(f"{address}/shared/unknown/", timeout=GENEROUS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code
