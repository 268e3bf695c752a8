"""Secrets of any characters, from the environment or from files, reach what they are for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import kombu
import pytest
import redis

from tests.kit.servers.authority import HERE, Authority
from webapp.config import environment

ROOT = Path(__file__).parents[3]
ODD = "p@ss/w#rd?:%20 é&=\"'$[]"
PING = """
import os; os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
import django; django.setup()
from webapp.core.broker import app
app.connection().ensure_connection(max_retries=1, reraise_as_library_errors=False)
"""
OURS = ("DATABASE_URL", "REDIS_URL", "REDIS_PASSWORD", "POSTGRES_", "DRAFTHOUSE_", "AWS_")


@pytest.fixture
def given(monkeypatch):
    """Set these variables, and no other of ours."""

    def give(**variables: str) -> None:
        for name in [name for name in os.environ if name.startswith(OURS)]:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return give


@pytest.mark.smoke
def test_a_password_of_any_characters_reaches_database_and_broker_from_a_variable_and_from_a_file(tmp_path, given):
    (tmp_path / "password").write_text(f"{ODD}\n", encoding="utf-8")
    for how in ({"PASSWORD": ODD}, {"PASSWORD_FILE": str(tmp_path / "password")}):
        passwords = {f"{what}_{name}": value for what in ("POSTGRES", "REDIS") for name, value in how.items()}
        given(POSTGRES_HOST="db", REDIS_URL="redis://broker:6379/0", **passwords)
        database, url = environment.database(tmp_path), environment.broker()
        assert (database["HOST"], database["PASSWORD"]) == ("db", ODD)
        assert redis.Redis.from_url(url).connection_pool.connection_kwargs["password"] == ODD
        assert kombu.Connection(url).password == ODD  # Celery's


@pytest.mark.parametrize("trusts", [False, True])
def test_a_broker_must_show_a_certificate_that_is_trusted_before_it_hears_the_password(tmp_path, given, trusts):
    """Celery by itself takes any."""
    authority, heard = Authority(tmp_path), []

    def listen() -> None:
        with suppress(OSError):  # the client went away
            line, _ = server.accept()
            server.close()  # another try is refused at once
            with authority.tls().wrap_socket(line, server_side=True) as safe:
                heard.append(safe.recv(1000))

    with socket.create_server((HERE, 0)) as server:
        thread = threading.Thread(target=listen)
        thread.start()
        trusted = f"?ssl_ca_certs={authority.file}" if trusts else ""
        given(REDIS_URL=f"rediss://:word@{HERE}:{server.getsockname()[1]}/0{trusted}", DRAFTHOUSE_DATA=str(tmp_path))
        told = subprocess.run([sys.executable, "-c", PING], cwd=ROOT, capture_output=True, text=True)
        thread.join()
    assert any(b"word" in told for told in heard) == trusts, told.stderr


def test_addresses_are_honoured_and_go_before_single_settings(tmp_path, given):
    given(DATABASE_URL="postgres://me:p%40ss%2Fw%23rd@db.example:5433/lab", POSTGRES_HOST="other")
    database = environment.database(tmp_path)
    told = [database[key] for key in ("HOST", "PORT", "NAME", "USER", "PASSWORD")]
    assert told == ["db.example", 5433, "lab", "me", "p@ss/w#rd"]
    given(REDIS_URL="rediss://me@b:1", REDIS_PASSWORD="x/y")
    assert environment.database(tmp_path)["NAME"] == str(tmp_path / "drafthouse.sqlite3")
    assert environment.broker() == "rediss://me:x%2Fy@b:1"
    given(REDIS_URL="unix:///run/s", REDIS_PASSWORD="x")
    assert environment.broker() == "unix:///run/s"


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD": "Postgres"}, "which everybody tries first"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD_FILE": "/nowhere/x"}, "cannot be read .*Put the secret"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD_FILE": "/x", "POSTGRES_PASSWORD": "y"}, "Keep one of them."),
        ({"REDIS_URL": "redis://:a@b", "REDIS_PASSWORD": "c"}, "Keep one of them."),
        ({"DATABASE_URL": "postgres://me:p@ss/w#rd:x@db:54x/lab"}, "with %-codes, as %2F for a slash"),
    ],
)
def test_what_cannot_be_right_ends_the_start_with_a_sentence(tmp_path, given, variables, told):
    given(**variables)
    with pytest.raises(SystemExit, match=told):
        environment.database(tmp_path), environment.broker()
