"""A full disk is named as the cause, and reading goes on. While the database is away, every request is told so, and
when to come back. Without the broker nearly all goes on."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

import psycopg.errors
import pytest
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from tests.kit.web import ask, prepare, web
from webapp.core import limits
from webapp.core.disk import is_disk_full
from worker.disk import bytes_in

BODIES = {"models": {"hub_id": "a/b"}, "datasets": {"text": "a prompt\n" * 20_000}}


def caused(error: Exception, by: BaseException) -> Exception:
    error.__cause__ = by
    return error


def test_an_error_that_comes_of_a_full_disk_is_known():
    full, quota, denied = (OSError(code, "no") for code in (errno.ENOSPC, errno.EDQUOT, errno.EACCES))
    for error in (full, quota, caused(OperationalError("x"), psycopg.errors.DiskFull()), caused(ValueError("x"), full)):
        assert is_disk_full(error)
    for error in (denied, caused(OperationalError("gone"), psycopg.errors.AdminShutdown()), None):
        assert not is_disk_full(error)


def test_files_that_vanish_while_they_are_counted_count_as_nothing(monkeypatch, tmp_path):
    (tmp_path / "there").write_bytes(b"123")
    monkeypatch.setattr("os.walk", lambda folder: [(folder, [], ["there", "gone"])])
    assert bytes_in(tmp_path) == 3


@pytest.fixture
def data(tmp_path: Path, tiny_disk: Path) -> tuple[Path, str]:
    """A data folder on a disk of 8 MiB, and a token of its owner's that was never used."""
    made = tmp_path / "made"
    token = prepare(f"sqlite:///{made}/drafthouse.sqlite3", made)
    files = {"version": "1.1", "paths": {"icon.svg": "icon.svg"}, "hash": ""}  # as if they were collected
    (made / "static" / "staticfiles.json").write_text(json.dumps(files))
    shutil.copytree(made, tiny_disk / "data")
    return tiny_disk / "data", token


@pytest.mark.slow
def test_on_a_full_disk_reading_goes_on_and_writing_says_why_it_cannot(data, monkeypatch):
    folder, token = data
    database = folder / "drafthouse.sqlite3"
    monkeypatch.setenv("DRAFTHOUSE_LEAST_FREE_MB", "1")
    with web(f"sqlite:///{database}", folder) as address, closing(sqlite3.connect(database)) as worker:
        worker.execute("SELECT * FROM accounts_team").fetchall()  # as workers do, it holds the database open
        assert ask(f"{address}/readyz")[0] == 200
        with suppress(OSError):
            (folder / "filling").write_bytes(b"x" * 16 * 1024**2)
        status, body = ask(f"{address}/readyz")
        told = json.loads(body)
        assert (status, told["parts"]["disk"]["ok"], told["parts"]["database"]["ok"]) == (503, False, True)
        assert ask(f"{address}/api/v1/me/", token)[0] == 200
        for noun, code in (("models", "disk-full"), ("datasets", "store-full")):
            status, body = ask(f"{address}/api/v1/{noun}/", token, {"name": "x"} | BODIES[noun])
            told = json.loads(body)
            assert (status, told["code"]) == (507, code) and "disk" in told["detail"]
        (folder / "filling").unlink()
        assert ask(f"{address}/api/v1/models/", token, BODIES["models"])[0] == 202


def away(*_: Any) -> NoReturn:
    raise OperationalError("the connection was closed")


def damaged(*_: Any) -> NoReturn:
    by = sqlite3.DatabaseError("database disk image is malformed")
    by.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise DatabaseError("database disk image is malformed") from by


def asked(world: Any, method: str, address: str) -> Any:
    client = world.script("submit")
    client.raise_request_exception = False
    return client.generic(method, address)


def told_away(answer: Any, what: str) -> bool:
    assert answer.status_code == 503, answer.content.decode()[:300]
    return f"The {what} does not answer just now" in answer.content.decode() and answer["Retry-After"] == "2"


def test_without_the_database_or_with_a_damaged_one_programs_and_people_are_told(world):
    world.script("submit")  # its token is made while all is well
    page = world.page(None)
    page.raise_request_exception = False
    page.cookies["dh_session"] = "of-earlier"
    with connection.execute_wrapper(away):
        answer = asked(world, "GET", "/api/v1/jobs/")
        assert told_away(answer, "database") and answer.json()["code"] == "away"
        assert told_away(page.get("/jobs/"), "database")
    with connection.execute_wrapper(damaged):
        answer = asked(world, "GET", "/api/v1/jobs/")
    assert (answer.status_code, answer.json()["code"]) == (503, "damaged")
    assert "restore the last backup" in answer.json()["hint"]


def test_without_the_broker_programs_go_on_and_limits_still_hold(world, settings, tmp_path, monkeypatch):
    world.script("submit")
    monkeypatch.setattr(limits, "_counters", limits._Counters())
    location = f"unix://{tmp_path}/nobody-listens.sock"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": location}}
    assert asked(world, "GET", "/api/v1/jobs/").status_code == 200
    wrong = Client(headers={"Authorization": "Bearer dh_0.0"})
    assert [wrong.get("/api/v1/me/").status_code for _ in range(31)] == [401] * 30 + [429]
    assert told_away(asked(world, "POST", "/api/v1/tickets/"), "broker")  # these live in it alone
