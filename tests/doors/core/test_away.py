"""While the database is away, every request is told so, and when to come back. Without the broker nearly all goes
on."""

from __future__ import annotations

import sqlite3
from typing import Any, NoReturn

import pytest
from django.db import DatabaseError, OperationalError, connection
from django.test import Client

from webapp.core import limits


def away(*_: Any) -> NoReturn:
    raise OperationalError("the connection was closed")


@pytest.fixture
def no_broker(world, settings, tmp_path, monkeypatch):
    world.script("submit")  # its token is made while all is well
    monkeypatch.setattr(limits, "_counters", limits._Counters())
    location = f"unix://{tmp_path}/nobody-listens.sock"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": location}}


@pytest.fixture
def no_database(world):
    world.script("submit")
    with connection.execute_wrapper(away):
        yield


def told_away(answer: Any, what: str) -> bool:
    assert answer.status_code == 503, answer.content.decode()[:300]
    return f"The {what} does not answer just now" in answer.content.decode() and answer["Retry-After"] == "2"


def test_without_the_database_programs_and_people_are_told_to_come_back(world, no_database):
    client = world.script("submit")
    client.raise_request_exception = False
    answer = client.get("/api/v1/jobs/")
    assert told_away(answer, "database") and answer.json()["code"] == "away"
    assert "Traceback" not in answer.content.decode()
    client = world.page(None)
    client.raise_request_exception = False
    client.cookies["dh_session"] = "of-earlier"
    assert told_away(client.get("/jobs/"), "database")


def test_a_damaged_database_is_told_as_one(world):
    def damaged(*_: Any) -> NoReturn:
        by = sqlite3.DatabaseError("database disk image is malformed")
        by.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise DatabaseError("database disk image is malformed") from by

    client = world.script("submit")
    client.raise_request_exception = False
    with connection.execute_wrapper(damaged):
        answer = client.get("/api/v1/jobs/")
    assert (answer.status_code, answer.json()["code"]) == (503, "damaged")
    assert "restore the last backup" in answer.json()["hint"]


def test_without_the_broker_programs_go_on_and_limits_still_hold(world, no_broker):
    client = world.script("submit")
    assert {client.get("/api/v1/jobs/").status_code for _ in range(20)} == {200}
    wrong = Client(headers={"Authorization": "Bearer dh_0.0"})
    assert [wrong.get("/api/v1/me/").status_code for _ in range(31)] == [401] * 30 + [429]


def test_without_the_broker_what_lives_in_it_alone_is_told_to_come_back(world, no_broker):
    client = world.script("submit")
    client.raise_request_exception = False
    assert told_away(client.post("/api/v1/tickets/"), "broker")
