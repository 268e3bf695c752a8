"""Secrets of any characters, from the environment or from files, reach what they are for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import kombu
import psycopg
import pytest
import redis
from psycopg import sql

from tests.kit.ports import free_port
from tests.kit.postgres import Server
from tests.webapp.live.conftest import _program, _wait_for

ROOT = Path(__file__).parents[3]
ODD = "p@ss/w#rd?:%20 é&=\"'$[]"
TOLD = """
import json
from webapp.config import settings
print(json.dumps([settings.DATABASES["default"], settings.REDIS_URL, settings.SECRET_KEY, settings.TOKEN_PEPPER]))
"""
ASKED = """
import django
django.setup()
from django.db import connection
connection.cursor().execute("SELECT 1")
print("answered")
"""
OURS = ("DATABASE_URL", "REDIS_URL", "REDIS_PASSWORD", "POSTGRES_", "DRAFTHOUSE_", "AWS_")


def run(code: str, data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**clean, "DRAFTHOUSE_DATA": str(data), **environment}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


def settings(data: Path, **environment: str) -> list:
    done = run(TOLD, data, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def guarded() -> Iterator[Server]:
    """A PostgreSQL that asks for the odd password."""
    server = Server.made(port=free_port())
    server.start()
    with psycopg.connect(f"{server.url}&port={server.port}", autocommit=True) as owner:
        owner.execute(sql.SQL("ALTER USER drafthouse PASSWORD {}").format(sql.Literal(ODD)))
        (server.home / "data" / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        owner.execute("SELECT pg_reload_conf()")
    yield server
    server.remove()


@pytest.mark.smoke
@pytest.mark.postgres
def test_a_password_of_any_characters_opens_the_database_from_a_variable_and_from_a_file(guarded, tmp_path):
    (tmp_path / "password").write_text(f"{ODD}\n", encoding="utf-8")
    where = {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_PORT": str(guarded.port), "POSTGRES_DB": "postgres"}
    for how in ({"POSTGRES_PASSWORD": ODD}, {"POSTGRES_PASSWORD_FILE": str(tmp_path / "password")}):
        done = run(ASKED, tmp_path, DJANGO_SETTINGS_MODULE="webapp.config.settings", **where, **how)
        assert done.stdout == "answered\n", done.stderr[-2000:]
    wrong = run(ASKED, tmp_path, DJANGO_SETTINGS_MODULE="webapp.config.settings", **where, POSTGRES_PASSWORD="other")
    assert "password authentication failed" in wrong.stderr


@pytest.mark.postgres
def test_a_password_of_any_characters_opens_the_broker(tmp_path):
    port, path = free_port(), tmp_path / "s"
    command = [_program(), "--port", str(port), "--bind", "127.0.0.1", "--unixsocket", path, "--requirepass", ODD]
    broker = subprocess.Popen([*command, "--save", "", "--dir", tmp_path, "--logfile", tmp_path / "log"])
    try:
        _wait_for(path)
        url = settings(tmp_path, REDIS_URL=f"redis://127.0.0.1:{port}/0", REDIS_PASSWORD=ODD)[1]
        with redis.Redis.from_url(url) as client:
            assert client.ping()
        with kombu.Connection(url) as line:  # Celery's
            assert line.default_channel.client.ping()
    finally:
        broker.terminate()
        broker.wait()


def test_addresses_are_honoured_and_go_before_single_settings(tmp_path):
    database, url, *_ = settings(
        tmp_path, DATABASE_URL="postgres://me:p%40ss%2Fw%23rd@db.example:5433/lab", POSTGRES_HOST="other",
        REDIS_URL="redis://:one%23two@broker.example:6380/2",
    )  # fmt: skip
    assert [database[key] for key in ("HOST", "PORT", "NAME", "USER", "PASSWORD")] == [
        "db.example", 5433, "lab", "me", "p@ss/w#rd",
    ]  # fmt: skip
    assert url == "redis://:one%23two@broker.example:6380/2"
    assert settings(tmp_path)[0]["NAME"] == str(tmp_path / "drafthouse.sqlite3")
    assert settings(tmp_path, REDIS_URL="rediss://me@b:1", REDIS_PASSWORD="x/y")[1] == "rediss://me:x%2Fy@b:1"
    assert settings(tmp_path, REDIS_URL="unix:///run/s", REDIS_PASSWORD="x")[1] == "unix:///run/s"


def test_every_secret_may_lie_in_a_file(tmp_path):
    for name in ("key", "pepper", "url", "broker"):
        (tmp_path / name).write_text(f"sqlite:///{tmp_path}/x.sqlite3\n" if name == "url" else f"redis://{name}\n")
    database, broker, key, pepper = settings(
        tmp_path,
        DRAFTHOUSE_SECRET_KEY_FILE=str(tmp_path / "key"), DRAFTHOUSE_TOKEN_PEPPER_FILE=str(tmp_path / "pepper"),
        DATABASE_URL_FILE=str(tmp_path / "url"), REDIS_URL_FILE=str(tmp_path / "broker"),
    )  # fmt: skip
    assert (database["NAME"], broker) == (f"{tmp_path}/x.sqlite3", "redis://broker")
    assert (key, pepper) == ("redis://key", "redis://pepper")
    (tmp_path / "aws").write_text("a/key+\n")
    code = "from webapp.config import settings; import boto3; print(boto3.Session().get_credentials().secret_key)"
    done = run(code, tmp_path, AWS_ACCESS_KEY_ID="id", AWS_SECRET_ACCESS_KEY_FILE=str(tmp_path / "aws"))
    assert done.stdout == "a/key+\n", done.stderr


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"POSTGRES_HOST": "db"}, "POSTGRES_PASSWORD is empty. Choose one of your own"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD": "drafthouse"}, "'drafthouse', which everybody tries first"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD": "Postgres"}, "which everybody tries first"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD_FILE": "/nowhere/password"}, "names /nowhere/password, which"),
        ({"DRAFTHOUSE_SECRET_KEY_FILE": "/nowhere/key"}, "cannot be read (No such file or directory). Put the secret"),
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD_FILE": "/x", "POSTGRES_PASSWORD": "y"}, "Keep one of them."),
        ({"REDIS_URL": "redis://:a@b", "REDIS_PASSWORD": "c"}, "Keep one of them."),
        ({"DATABASE_URL": "postgres://me:p@ss/w#rd:x@db:54x/lab"}, "with %-codes, as %2F for a slash"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_ends_the_start_with_a_sentence(tmp_path, environment, told):
    done = run(TOLD, tmp_path, **environment)
    assert done.returncode == 1 and told in done.stderr
    assert "Traceback" not in done.stderr
