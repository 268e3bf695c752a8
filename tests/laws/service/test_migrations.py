"""The migrations make the tables that the models state, and databases of old are taken over or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from webapp.core import edition

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]


def run(folder: Path, code: str) -> str:
    """Run code in a process with a database of its own, which is in this folder."""
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(folder), "DATABASE_URL": f"sqlite:///{folder}/one.sqlite3"}
    start = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "from django.db import connection\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", start + code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_model_has_changed_without_a_migration(db):
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


OLD = """
from django.core.management import CommandError
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from webapp.accounts.models import Team
call_command("migrate", verbosity=0)
Team.objects.create(name="of old")
recorder, old = MigrationRecorder(connection), MigrationLoader(None).replacements
for initial in old:
    recorder.record_unapplied(*initial)
last = max(old["jobs", "0001_initial"].replaces)
recorder.record_unapplied(*last)
for _ in range(2):  # nothing is changed by the first try
    try:
        call_command("migrate", verbosity=0)
    except CommandError as refusal:
        print(refusal)
recorder.record_applied(*last)
call_command("migrate", verbosity=0)
call_command("migrate", check_unapplied=True, verbosity=0)
assert Team.objects.filter(name="of old").exists()
"""


def test_a_database_of_old_is_taken_over_with_its_rows_or_refused_with_the_commit_that_has_what_it_lacks(tmp_path):
    told = run(tmp_path, OLD)
    assert told.count("older Drafthouse") == told.count(f"commit {edition.LAST_THAT_MIGRATES}") == 2
