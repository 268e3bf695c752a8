"""Labs made once, to be backed up and restored by many tests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.programs import POSTGRES, locate
from tests.webapp.backup.lab import Lab
from tests.webapp.postgres import Server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Each call makes an empty database and gives its URL."""
    if locate(POSTGRES) is None:
        pytest.skip(POSTGRES.missing)
    server = Server.made()
    server.start()

    def database() -> str:
        name = f"lab_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return server.url.replace("/postgres?", f"/{name}?")

    yield database
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind."""
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres")()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """On SQLite. Tests only read it."""
    return Lab(tmp_path_factory.mktemp("lab") / "data").made()


@pytest.fixture(scope="session")
def backup(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("backup") / "lab.tar"
    lab.do("backup", file)
    return file
