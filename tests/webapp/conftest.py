"""The world of the service's tests: alice owns a team, bob and victor are in it, charlie must see nothing of it."""

# ruff: noqa: E402  the environment comes before Django reads it

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
os.environ["DRAFTHOUSE_DATA"] = tempfile.mkdtemp(prefix="drafthouse-tests-")
atexit.register(shutil.rmtree, os.environ["DRAFTHOUSE_DATA"], ignore_errors=True)
os.environ.setdefault("DATABASE_URL", f"sqlite:///{os.environ['DRAFTHOUSE_DATA']}/drafthouse.sqlite3")
os.environ["REDIS_URL"] = ""

import django

django.setup()

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.test import Client
from rest_framework.test import APIClient

from webapp.accounts import actor as actors
from webapp.accounts import services
from webapp.accounts.actor import Actor
from webapp.accounts.models import Membership, Role, Scope, Team, User


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """A real file, so that WAL, IMMEDIATE and two connections are what they are in earnest."""
    if django_settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        django_settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(
            Path(os.environ["DRAFTHOUSE_DATA"]) / "tests.sqlite3"
        )


@dataclass
class World:
    team: Team
    other_team: Team
    alice: User  # owner
    bob: User  # member
    victor: User  # viewer
    charlie: User  # owner of another team
    tokens: dict[str, str] = field(default_factory=dict)

    def page(self, user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    def api(self, user: User | None) -> APIClient:
        client = APIClient()
        if user is not None:
            client.force_login(user)
        return client

    def script(self, scope: str = "admin") -> APIClient:
        """Alice's program, with a token of this scope."""
        if scope not in self.tokens:
            self.tokens[scope] = services.create_token(
                name=scope, scope=Scope(scope), days=1, by=self.actor(self.alice)
            )[1]
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.tokens[scope]}")
        return client

    def actor(self, user: User) -> Actor:
        return actors.of_user(User.objects.get(pk=user.pk))


@pytest.fixture
def world(db: Any) -> World:
    alice, bob, victor, charlie = (
        User.objects.create(username=name, password="!") for name in ("alice", "bob", "victor", "charlie")
    )
    team = services.create_team(name="Alice's lab", by=alice)
    other_team = services.create_team(name="Charlie's lab", by=charlie)
    for user, role in ((bob, Role.MEMBER), (victor, Role.VIEWER)):
        Membership.objects.create(team=team, user=user, role=role)
    return World(team, other_team, alice, bob, victor, charlie)


@pytest.fixture(autouse=True)
def fresh_start(settings: Any, tmp_path: Path) -> Iterator[None]:
    """Counters of tries start at zero, files go to a folder of the test's own, and static files need no collecting."""
    cache.clear()
    settings.DATA_DIR = tmp_path
    settings.STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
    yield
