"""A lab in a data folder and a database of its own, used by processes of its own, as an operator uses it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.up import DEADLINE, ROOT, environment

COMMAND = [sys.executable, "-P", "-m", "worker.supervisor.backup"]

MAKE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.kit import make
from tests.kit.everything import in_other_states, more_of_everything, one_of_everything
from tests.kit.teams import a_world
from webapp.accounts.models import User
from django.utils import timezone
world = a_world()
things = one_of_everything(world)
more_of_everything(world)
in_other_states(world, things)
User.objects.filter(username="alice").update(last_login=timezone.now())
world.page(world.alice)
"""

# Not by the code that is under test: by Django's own serializer.
CONTENTS = """
import hashlib, json
from django.apps import apps
from django.core import serializers
from django.db import connection
found = {}
for model in apps.get_models(include_auto_created=True):
    rows = json.loads(serializers.serialize("json", model._base_manager.order_by("pk")))
    text = json.dumps(rows, sort_keys=True)
    found[model._meta.label_lower] = [len(rows), hashlib.sha256(text.encode()).hexdigest()]
print(json.dumps(found))
"""


@dataclass
class Lab:
    folder: Path
    database: str = ""  # URL; empty: SQLite in the folder
    more: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        own = {"DATABASE_URL": self.database} if self.database else {}
        usual = {"DJANGO_SETTINGS_MODULE": "webapp.config.settings", "REDIS_URL": "", "DRAFTHOUSE_SERVERS": "127.0.0.1"}
        return environment(self.folder, **usual, **self.more, **own)

    def python(self, code: str) -> str:
        command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
        done = subprocess.run(command, env=self.env, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.strip()

    def copied(self, folder: Path, database: str = "") -> Lab:
        """The same files in another folder, with a database that is a copy too: restoring takes seconds."""
        shutil.copytree(self.folder, folder)
        return Lab(folder, database)

    def contents(self, *, without: tuple[str, ...] = ("sessions.session", "jobs.worker")) -> dict[str, Any]:
        """Return the row count of each table, and a hash of its rows."""
        found = json.loads(self.python(CONTENTS))
        return {name: held for name, held in found.items() if name not in without}

    def count(self, table: str) -> int:
        return int(self.contents(without=())[table][0])

    def chunks(self) -> dict[str, bytes]:
        root = self.folder / "chunks"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("*/*/*") if path.is_file()}

    def secrets(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in (self.folder / "secrets").iterdir()}

    def _words(self, command: str, *arguments: str | Path) -> list[str]:
        return [*COMMAND, command, *map(str, arguments), "--data", str(self.folder)]

    def start(self, command: str, *arguments: str | Path) -> subprocess.Popen[str]:
        words = self._words(command, *arguments)
        return subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")

    def run(self, command: str, *arguments: str | Path) -> tuple[int, str]:
        """The exit code, and all that was said."""
        words = self._words(command, *arguments)
        done = subprocess.run(words, env=self.env, cwd="/", capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def do(self, command: str, *arguments: str | Path) -> str:
        code, said = self.run(command, *arguments)
        assert code == 0, said
        return said


def killed(process: subprocess.Popen[str], when: Callable[[], bool]) -> None:
    """Ended by SIGKILL at the first moment that is as wanted."""
    deadline = time.monotonic() + DEADLINE
    while not when():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    process.kill()
    process.communicate()
    assert process.returncode == -9
