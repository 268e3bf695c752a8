"""Labs made once, to be backed up and restored by many tests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit.postgres import Server
from tests.machines.backup.lab import Forks, Lab


@pytest.fixture(scope="session", autouse=True)
def forks() -> Iterator[None]:
    forks = Forks()
    Lab.run_code = forks.run
    yield
    forks.end()


@pytest.fixture(scope="session")
def postgres(started_postgres: Server) -> Callable[..., str]:
    """Each call makes a database, empty or a copy of another, and gives its URL."""
    return started_postgres.database


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """On SQLite. Tests only read it."""
    return Lab(tmp_path_factory.mktemp("lab") / "data").made()


@pytest.fixture(scope="session")
def backup(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("backup") / "lab.tar"
    lab.do("backup", file)
    return file


@pytest.fixture(scope="session")
def restored(backup: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Lab]:
    """The lab that came of the backup, restored once into each kind of database. Tests only copy it."""

    @functools.cache
    def one(database: Callable[..., str] | None = None) -> Lab:
        lab = Lab(tmp_path_factory.mktemp("restored") / "data", database() if database else "")
        lab.do("restore", backup)
        return lab

    return one


@pytest.fixture
def sqlite_copy(restored: Callable[..., Lab], tmp_path: Path) -> Lab:
    return restored().copied(tmp_path / "copy")


@pytest.fixture
def postgres_copy(restored: Callable[..., Lab], postgres: Callable[..., str], tmp_path: Path) -> Lab:
    lab = restored(postgres)
    return lab.copied(tmp_path / "copy", postgres(like=lab.database))


@pytest.fixture(params=["sqlite", "postgres"])
def copy(request: pytest.FixtureRequest) -> Lab:
    """A copy of the restored lab, on each kind of database."""
    made: Lab = request.getfixturevalue(f"{request.param}_copy")
    return made
