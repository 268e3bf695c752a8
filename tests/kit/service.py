"""A data folder and a database of the tests' own, and in each test a world of teams and people."""

# ruff: noqa: E402  the environment comes before Django reads it

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
os.environ["DRAFTHOUSE_DATA"] = tempfile.mkdtemp(prefix="drafthouse-tests-")
atexit.register(shutil.rmtree, os.environ["DRAFTHOUSE_DATA"], ignore_errors=True)
os.environ.setdefault("DATABASE_URL", f"sqlite:///{os.environ['DRAFTHOUSE_DATA']}/drafthouse.sqlite3")
os.environ["REDIS_URL"] = ""
os.environ["DRAFTHOUSE_SERVERS"] = "localhost,127.0.0.0/8,::1"

import django

django.setup()

import pytest
from django.conf import settings as django_settings
from django.contrib.contenttypes.management import create_contenttypes
from django.core.cache import cache
from django.db import connection
from django.db.models.signals import post_migrate

from tests.kit import make
from tests.kit.teams import World, a_world
from webapp.accounts.actor import Actor
from webapp.registry.models import Dataset, Pair

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """A real file, so that WAL, IMMEDIATE and two connections are what they are in earnest."""
    if django_settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        django_settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(
            Path(os.environ["DRAFTHOUSE_DATA"]) / "tests.sqlite3"
        )


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """After each test that commits, Django empties all tables and makes its own permissions and kinds of content again,
    which takes longer than most of these tests, and nobody asks for them."""
    post_migrate.disconnect(create_contenttypes)
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@pytest.fixture
def world(db: Any) -> World:
    return a_world()


@pytest.fixture
def by(world: World) -> Actor:
    """Bob, a member, who makes things."""
    return world.actor(world.bob)


@pytest.fixture
def ready(by: Actor) -> tuple[Pair, Dataset]:
    """A pair and prompts."""
    return make.pair(by), make.dataset(by)


@pytest.fixture
def run(world: World) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run lines in a shell at the root of Drafthouse, with a token of alice's."""

    def run_one(line: str, scope: str = "submit", **environment: str) -> subprocess.CompletedProcess[str]:
        world.script(scope)
        told = {**os.environ, "DRAFTHOUSE_TOKEN": world.tokens[scope], **environment}
        return subprocess.run(["bash", "-c", line], cwd=ROOT, env=told, capture_output=True, text=True, check=False)

    return run_one


@pytest.fixture(autouse=True)
def fresh_start(settings: Any, tmp_path: Path) -> Iterator[None]:
    """Counters of tries start at zero, files go to a folder of the test's own, and static files need no collecting."""
    cache.clear()
    settings.DATA_DIR = tmp_path
    settings.STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
    yield


@contextmanager
def reading_in_transactions(what: str) -> Iterator[list[bool]]:
    """Note of each query that reads this whether a transaction was open."""
    reads: list[bool] = []

    def watch(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        if sql.startswith("SELECT") and what in sql:
            reads.append(connection.in_atomic_block)
        return execute(sql, *more)

    with connection.execute_wrapper(watch):
        yield reads
