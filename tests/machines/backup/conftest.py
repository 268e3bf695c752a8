"""Labs made once, to be backed up and restored by many tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.postgres import Server
from tests.machines.backup.lab import COMMAND, MAKE, Lab


@pytest.fixture(scope="session")
def postgres(started_postgres: Server) -> Callable[..., str]:
    """Each call makes a database, empty or a copy of another, and gives its URL."""
    return started_postgres.database


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """On SQLite. Tests only read it."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    lab.python(MAKE)
    return lab


@pytest.fixture(scope="session")
def backup(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("backup") / "lab.tar"
    lab.do("backup", file)
    return file


@pytest.fixture(scope="session")
def second(backup: Path, postgres: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The lab that came of the backup, on PostgreSQL. Tests only read it, and copy it."""
    lab = Lab(tmp_path_factory.mktemp("second") / "data", postgres())
    lab.do("restore", backup)
    return lab


@pytest.fixture(scope="session")
def piped(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The lab that came out of a pipe, as in a container, on SQLite. Tests only copy it."""
    copy, file = Lab(tmp_path_factory.mktemp("piped") / "data"), tmp_path_factory.mktemp("pipe") / "lab.tar"
    with file.open("wb") as out:
        subprocess.run([*COMMAND, "backup", "-"], env=lab.env, stdout=out, stderr=subprocess.PIPE, check=True)
    with file.open("rb") as into:
        subprocess.run([*COMMAND, "restore", "-"], env=copy.env, stdin=into, capture_output=True, check=True)
    return copy


@pytest.fixture
def sqlite_copy(piped: Lab, tmp_path: Path) -> Lab:
    return piped.copied(tmp_path / "copy")


@pytest.fixture
def postgres_copy(second: Lab, postgres: Callable[..., str], tmp_path: Path) -> Lab:
    return second.copied(tmp_path / "copy", postgres(like=second.database))


@pytest.fixture(params=["sqlite", "postgres"])
def copy(request: pytest.FixtureRequest) -> Lab:
    """A copy of the restored lab, on each kind of database."""
    made: Lab = request.getfixturevalue(f"{request.param}_copy")
    return made
