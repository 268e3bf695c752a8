"""`/readyz` tells the truth, soon, whatever part is away."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tests.kit.live import valkey  # noqa: F401
from tests.kit.servers.authority import HERE, Authority
from tests.kit.stores import bucket, s3_server  # noqa: F401
from tests.kit.web import web
from webapp.config import readiness, status
from webapp.config.door import Door
from webapp.core import fingerprints

GENEROUS = 30  # s; the bar is 2, which benchmarks measure on a quiet machine


def amiss() -> dict[str, str]:
    """Ask every part; return why those that are missing are."""
    return {name: part["reason"] for name, part in readiness.look()["parts"].items() if not part["ok"]}


def answer(path: str) -> tuple[int, bytes]:
    """Ask as a probe does, which knows only the machine's address."""
    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"10.0.0.1")], "query_string": b""}
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async_to_sync(Door(get_asgi_application()))(scope, None, send)
    return sent[0]["status"], sent[1]["body"]


def test_all_is_well_and_every_part_says_so_under_any_host_name(transactional_db, settings):
    well = {"ok": True, "reason": ""}
    parts = {"database": well, "disk": well, "static": well, "store": well}
    status, body = answer("/readyz")
    assert (status, json.loads(body)) == (200, {"ready": True, "degraded": False, "reason": "", "parts": parts})
    assert answer("/healthz") == (200, b"ok\n")
    settings.LEAST_FREE_BYTES = 1 << 60
    status, body = answer("/readyz")
    assert status == 503 and "MiB are free on the disk of the data folder" in json.loads(body)["reason"]


def test_a_broker_that_answers_or_is_gone_is_told(db, settings, valkey, tmp_path):  # noqa: F811
    settings.REDIS_URL = valkey
    assert readiness.look()["parts"]["broker"]["ok"]
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    assert amiss() == {"broker": "The broker does not answer (ConnectionError)."}


def test_a_broker_that_is_paused_is_told_and_asked_by_one_thread_alone(db, settings, silent):
    settings.REDIS_URL = f"unix://{silent}"
    before = threading.active_count()
    for _ in range(2):
        asked = [readiness.PARTS[1].ask() for _ in range(50)]
        assert len(set(map(id, asked))) == 1 and threading.active_count() <= before + 1
        assert set(amiss()) == {"broker"}
        asked[0].result(GENEROUS)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Path]:
    """Make a socket where everybody is accepted and nobody is answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent.sock"))
        listener.listen(100)
        yield tmp_path / "silent.sock"


def test_without_the_store_the_rest_is_served_and_the_reason_is_told(db, settings):
    settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", "http://127.0.0.1:1"
    told = readiness.look()
    assert (told["ready"], told["degraded"]) == (True, True) and "store does not answer" in told["reason"]
    assert any("store does not answer" in warning for warning in status.system()["warnings"])


def test_a_bucket_that_answers_is_told_and_one_that_is_not_there(settings, bucket):  # noqa: F811
    store = next(part for part in readiness.PARTS if part.name == "store")
    assert store.ask().result(GENEROUS) == ""
    settings.S3_BUCKET = "no-such-bucket"
    assert "(NoSuchBucket). Ask the operator to check the name of the bucket" in store.ask().result(GENEROUS)


def test_a_store_whose_certificate_an_authority_of_ones_own_signed(settings, monkeypatch, tmp_path):
    """boto3 does not ask the system whom to trust."""
    store, authority = next(part for part in readiness.PARTS if part.name == "store"), Authority(tmp_path)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    with ThreadingHTTPServer((HERE, 0), BaseHTTPRequestHandler) as server:
        server.socket = authority.tls().wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever).start()
        settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", f"https://{HERE}:{server.server_port}"
        told = store.ask().result(GENEROUS)
        assert "certificate is not trusted" in told and "AWS_CA_BUNDLE" in told
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
        settings.S3_BUCKET = "others"  # a new client
        assert "The object store refuses (501)" in store.ask().result(GENEROUS)  # as BaseHTTPRequestHandler answers
        server.shutdown()


def test_a_machine_whose_static_files_are_not_collected_serves_no_page(db, settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {"staticfiles": {"BACKEND": "webapp.core.static.HashedStatic"}}
    assert "worker.supervisor.prepare" in amiss()["static"]


def test_a_database_of_a_newer_drafthouse_is_refused(transactional_db):
    MigrationRecorder(connection).record_applied("jobs", "9999_of_tomorrow")
    try:
        assert "made by a newer Drafthouse" in amiss()["database"] and "jobs.9999_of_tomorrow" in amiss()["database"]
    finally:
        MigrationRecorder(connection).record_unapplied("jobs", "9999_of_tomorrow")


def test_a_machine_with_other_secrets_is_refused_and_told_which_to_copy(transactional_db, settings):
    fingerprints.keep()
    assert amiss() == {}
    settings.TOKEN_PEPPER = "of another machine"
    fingerprints.keep()
    told = amiss()["database"]
    assert "Copy secrets/token_pepper" in told and "accept_secrets" in told and "secret_key" not in told
    call_command("accept_secrets")
    assert amiss() == {}


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
            assert (status, told["parts"]["database"]["ok"]) == (503, False) and "migrations are not applied" in told[
                "reason"
            ]
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
