"""While the database or the broker is away, whoever asks is told so and when to come back. It is nobody's mistake, and
no error of the server's."""

from __future__ import annotations

import sqlite3
from typing import Any, NoReturn

import pytest
from django.db import DatabaseError, OperationalError, connection


def away(*_: Any) -> NoReturn:
    raise OperationalError("the connection was closed")


@pytest.fixture(params=["database", "broker"])
def outage(request, world, settings, tmp_path):
    """Programs spend their limits in the broker, and everybody reads the database."""
    world.script("submit")  # its token is made while all is well
    if request.param == "broker":
        settings.CACHES = {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": f"unix://{tmp_path}/nobody-listens.sock",
            }
        }
        yield "broker"
    else:
        with connection.execute_wrapper(away):
            yield "database"


def test_a_program_is_told_to_come_back(world, outage):
    client = world.script("submit")
    client.raise_request_exception = False
    answer = client.get("/api/v1/jobs/")
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "away", "2")
    assert outage in answer.json()["detail"] and "Traceback" not in answer.content.decode()


def test_a_person_gets_a_page_that_says_so(world, outage):
    """Signed in, one needs the database; on the way in, tries are counted in the broker."""
    client = world.page(None)
    client.raise_request_exception = False
    client.cookies["dh_session"] = "of-earlier"
    if outage == "database":
        answer = client.get("/jobs/")
    else:
        answer = client.post("/sign-in/", {"username": "alice", "password": "of-earlier"})
    assert answer.status_code == 503, answer.content.decode()[:300]
    assert f"The {outage} does not answer just now" in answer.content.decode()


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
