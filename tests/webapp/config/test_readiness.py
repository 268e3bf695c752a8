"""`/readyz` tells the truth, soon, whatever part is away."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.kit.web import web
from tests.webapp.live.conftest import valkey  # noqa: F401
from tests.webapp.uploads.conftest import bucket, s3_server  # noqa: F401
from webapp.config import readiness, status
from webapp.core import fingerprints

GENEROUS = 30  # s; the bar is 2, which benchmarks measure on a quiet machine


def amiss(told: dict[str, Any]) -> set[str]:
    return {name for name, part in told["parts"].items() if not part["ok"]}


def test_all_is_well_and_every_part_says_so(db, client):
    told = client.get("/readyz").json()
    well = {"ok": True, "reason": ""}
    parts = {"database": well, "disk": well, "static": well, "store": well}
    assert told == {"ready": True, "degraded": False, "reason": "", "parts": parts}


# The disk ------------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_nearly_full_is_told_with_what_to_do(db, client, settings):
    settings.LEAST_FREE_BYTES = 1 << 60
    answer = client.get("/readyz")
    assert (answer.status_code, amiss(answer.json())) == (503, {"disk"})
    assert "MiB are free on the disk of the data folder" in answer.json()["reason"]
    assert answer.json()["reason"].endswith("Free some space, or move it to a larger disk.")


def test_a_disk_that_is_full_is_told(db, client, settings, tiny_disk):
    settings.DATA_DIR = tiny_disk
    settings.LEAST_FREE_BYTES = 1024**2
    assert client.get("/readyz").status_code == 200
    with suppress(OSError):
        (tiny_disk / "filling").write_bytes(b"x" * 16 * 1024**2)
    assert amiss(client.get("/readyz").json()) == {"disk"}


# The broker ----------------------------------------------------------------------------------------------------------


def test_a_broker_that_answers_is_told(db, client, settings, valkey):  # noqa: F811
    settings.REDIS_URL = valkey
    told = client.get("/readyz").json()
    assert "broker" in told["parts"] and amiss(told) == set()


def test_a_broker_whose_socket_is_gone_is_told(db, client, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    told = client.get("/readyz").json()
    assert amiss(told) == {"broker"}
    assert told["reason"] == "The broker does not answer (ConnectionError)."


def test_a_broker_that_is_paused_is_told_and_asked_by_one_thread_alone(db, client, settings, silent):
    settings.REDIS_URL = f"unix://{silent}"
    before = threading.active_count()
    for _ in range(2):
        asked = [readiness.PARTS[1].ask() for _ in range(50)]
        assert len(set(map(id, asked))) == 1 and threading.active_count() <= before + 1
        told = client.get("/readyz").json()
        assert amiss(told) == {"broker"}
        asked[0].result(GENEROUS)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Path]:
    """Make a socket where everybody is accepted and nobody is answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent.sock"))
        listener.listen(100)
        yield tmp_path / "silent.sock"


# The store of uploads -------------------------------------------------------------------------------------------------


def test_without_the_store_the_rest_is_served_and_the_reason_is_told(db, client, settings):
    settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", "http://127.0.0.1:1"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["degraded"], amiss(answer.json())) == (200, True, {"store"})
    assert "store does not answer" in answer.json()["reason"]
    assert any("store does not answer" in warning for warning in status.system()["warnings"])


def test_a_bucket_that_answers_is_told_and_one_that_is_not_there(settings, bucket):  # noqa: F811
    store = next(part for part in readiness.PARTS if part.name == "store")
    assert store.ask().result(GENEROUS) == ""
    settings.S3_BUCKET = "no-such-bucket"
    assert "check the name of the bucket" in store.ask().result(GENEROUS)


# Static files ---------------------------------------------------------------------------------------------------------


def test_a_machine_whose_static_files_are_not_collected_serves_no_page(db, client, settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {"staticfiles": {"BACKEND": "webapp.core.static.HashedStatic"}}
    answer = client.get("/readyz")
    assert (answer.status_code, amiss(answer.json())) == (503, {"static"})
    assert "worker.supervisor.prepare" in answer.json()["reason"]


# A database that is not for this program ------------------------------------------------------------------------------


def test_a_database_of_a_newer_drafthouse_is_refused(transactional_db, client):
    MigrationRecorder(connection).record_applied("jobs", "9999_of_tomorrow")
    try:
        answer = client.get("/readyz")
        assert (answer.status_code, amiss(answer.json())) == (503, {"database"})
        assert "made by a newer Drafthouse" in answer.json()["reason"]
        assert "jobs.9999_of_tomorrow" in answer.json()["reason"]
    finally:
        MigrationRecorder(connection).record_unapplied("jobs", "9999_of_tomorrow")


def test_a_machine_with_other_secrets_is_refused_and_told_which_to_copy(transactional_db, client, settings):
    fingerprints.keep()
    assert client.get("/readyz").status_code == 200
    settings.TOKEN_PEPPER = "of another machine"
    fingerprints.keep()
    answer = client.get("/readyz")
    assert (answer.status_code, amiss(answer.json())) == (503, {"database"})
    assert "token_pepper differ" in answer.json()["reason"] and "secrets/token_pepper" in answer.json()["reason"]
    assert "secret_key" not in answer.json()["reason"] and "accept_secrets" in answer.json()["reason"]
    call_command("accept_secrets")
    assert client.get("/readyz").status_code == 200


# The database --------------------------------------------------------------------------------------------------------


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
            assert (status, "database" in amiss(told)) == (503, True) and "migrations are not applied" in told["reason"]
        with psycopg.connect(server.url) as looking:
            (others,) = looking.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone() or (0,)
        assert others < 3
        with ThreadPoolExecutor(40) as readers, server.paused():  # in this order: who reads waits until it goes on
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
