"""`/readyz` tells the truth, soon, whatever part is away."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.asgi import get_asgi_application
from django.core.management import call_command

from tests.kit.stores import bucket, s3_server  # noqa: F401
from webapp.config import readiness, status
from webapp.config.door import Door
from webapp.core import fingerprints, start


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


def test_a_broker_that_is_gone_or_says_nothing_is_told_and_asked_by_one_thread_alone(db, settings, silent, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    assert amiss() == {"broker": "The broker does not answer (ConnectionError)."}
    assert any("Without a broker" in warning for warning in status.system()["warnings"])
    settings.REDIS_URL = f"unix://{silent}"
    before = threading.active_count()
    asked = [readiness.PARTS[1].ask() for _ in range(50)]
    assert len(set(map(id, asked))) == 1 and threading.active_count() <= before + 1
    assert set(amiss()) == {"broker"}


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Path]:
    """Make a socket where everybody is accepted and nobody is answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent.sock"))
        listener.listen(100)
        yield tmp_path / "silent.sock"


def test_without_the_store_the_rest_is_served_and_the_reason_is_told(db, settings, monkeypatch, bucket):  # noqa: F811
    monkeypatch.setattr(readiness, "LIMIT", 60.0)  # it answers, however busy this machine is
    assert amiss() == {}
    settings.S3_BUCKET = "no-such-bucket"
    told = readiness.look()
    assert (told["ready"], told["degraded"]) == (True, True)
    assert "(NoSuchBucket). Ask the operator to check the name of the bucket" in told["reason"]
    assert any("(NoSuchBucket)" in warning for warning in status.system()["warnings"])


def test_a_machine_with_other_secrets_is_refused_and_told_which_to_copy(transactional_db, settings, caplog):
    fingerprints.keep()
    assert amiss() == {}
    settings.TOKEN_PEPPER = "of another machine"
    fingerprints.keep()
    told = amiss()["database"]
    assert "Copy secrets/token_pepper" in told and "accept_secrets" in told and "secret_key" not in told
    start.wait(logging.getLogger("a worker"))
    assert caplog.messages[-1].endswith("Until then no job here can ask a server that needs a key.")
    call_command("accept_secrets")
    assert amiss() == {}
