"""While the database is away, every request is told so, and when to come back. Without the broker nearly all goes
on."""

from __future__ import annotations

import sqlite3
from typing import Any, NoReturn

from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from webapp.core import limits


def away(*_: Any) -> NoReturn:
    raise OperationalError("the connection was closed")


def damaged(*_: Any) -> NoReturn:
    by = sqlite3.DatabaseError("database disk image is malformed")
    by.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise DatabaseError("database disk image is malformed") from by


def ask(world: Any, method: str, address: str) -> Any:
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
        answer = ask(world, "GET", "/api/v1/jobs/")
        assert told_away(answer, "database") and answer.json()["code"] == "away"
        assert told_away(page.get("/jobs/"), "database")
    with connection.execute_wrapper(damaged):
        answer = ask(world, "GET", "/api/v1/jobs/")
    assert (answer.status_code, answer.json()["code"]) == (503, "damaged")
    assert "restore the last backup" in answer.json()["hint"]


def test_without_the_broker_programs_go_on_and_limits_still_hold(world, settings, tmp_path, monkeypatch):
    world.script("submit")
    monkeypatch.setattr(limits, "_counters", limits._Counters())
    location = f"unix://{tmp_path}/nobody-listens.sock"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": location}}
    assert ask(world, "GET", "/api/v1/jobs/").status_code == 200
    wrong = Client(headers={"Authorization": "Bearer dh_0.0"})
    assert [wrong.get("/api/v1/me/").status_code for _ in range(31)] == [401] * 30 + [429]
    assert told_away(ask(world, "POST", "/api/v1/tickets/"), "broker")  # these live in it alone
