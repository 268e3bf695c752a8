"""Secrets of any characters, from the environment or from files, reach what they are for."""

from __future__ import annotations

import json
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

from tests.decoding.servers.authority import HERE, Authority

ROOT = Path(__file__).parents[3]
ODD = "p@ss/w#rd?:%20 é&=\"'$[]"
TOLD = """
import json
from webapp.config import settings
print(json.dumps([settings.DATABASES["default"], settings.REDIS_URL, settings.SECRET_KEY, settings.TOKEN_PEPPER]))
"""
PING = """
import os; os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
import django; django.setup()
from webapp.core.broker import app
app.connection().ensure_connection(max_retries=1, reraise_as_library_errors=False)
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


@pytest.mark.smoke
def test_a_password_of_any_characters_reaches_database_and_broker_from_a_variable_and_from_a_file(tmp_path):
    (tmp_path / "password").write_text(f"{ODD}\n", encoding="utf-8")
    for how in ({"PASSWORD": ODD}, {"PASSWORD_FILE": str(tmp_path / "password")}):
        given = {f"{what}_{name}": value for what in ("POSTGRES", "REDIS") for name, value in how.items()}
        database, url, *_ = settings(tmp_path, POSTGRES_HOST="db", REDIS_URL="redis://broker:6379/0", **given)
        assert (database["HOST"], database["PASSWORD"]) == ("db", ODD)
        assert redis.Redis.from_url(url).connection_pool.connection_kwargs["password"] == ODD
        assert kombu.Connection(url).password == ODD  # Celery's


@pytest.mark.parametrize("trusts", [False, True])
def test_a_broker_must_show_a_certificate_that_is_trusted_before_it_hears_the_password(tmp_path, trusts):
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
        told = run(PING, tmp_path, REDIS_URL=f"rediss://:word@{HERE}:{server.getsockname()[1]}/0{trusted}")
        thread.join()
    assert any(b"word" in told for told in heard) == trusts, told.stderr


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
        ({"POSTGRES_HOST": "db", "POSTGRES_PASSWORD": "Postgres"}, "which everybody tries first"),
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
