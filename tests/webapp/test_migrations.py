"""The migrations make the tables that the models state, by any way, and every migration can be taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

ROOT = Path(__file__).parents[2]
APPS = ("sharing", "comparisons", "studies", "registry", "uploads", "jobs", "accounts", "core")

TABLES = """
import json
from django.db.migrations.loader import MigrationLoader
state = MigrationLoader(connection).project_state()
orders = {label: list(model.fields) for (_, label), model in state.models.items()}
with connection.cursor() as cursor:
    found = {}
    for table in connection.introspection.table_names(cursor):
        columns = connection.introspection.get_table_description(cursor, table)
        constraints = connection.introspection.get_constraints(cursor, table)
        found[table] = [
            sorted([one.name, one.type_code, one.null_ok, one.display_size] for one in columns),
            sorted(json.dumps(one, sort_keys=True, default=str) for name, one in constraints.items()),
            sorted(name for name in constraints if not name.startswith("__")),
        ]
print(json.dumps([orders, found]))
"""


def run(folder: Path, code: str) -> str:
    """Run code in a process with a database of its own, which is in this folder."""
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(folder), "DATABASE_URL": f"sqlite:///{folder}/one.sqlite3"}
    start = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "from django.db import connection\n"
        "from tests.webapp import editions\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", start + code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_model_has_changed_without_a_migration(db):
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_all_of_them_go_forth_and_back_and_forth(tmp_path):
    """Squashed ones as a whole; those that they replace one by one, too."""
    run(
        tmp_path,
        f"""
call_command("migrate", verbosity=0)
for app in {APPS}:
    call_command("migrate", app, "zero", verbosity=0)
call_command("migrate", verbosity=0)
for app in {APPS}:
    editions.at((app, None))
call_command("migrate", verbosity=0)
""",
    )


def test_every_older_edition_is_brought_up_to_the_tables_of_a_new_one(tmp_path):
    """The order of fields too: it is the order of a backup's rows."""
    new, older, oldest = tmp_path / "new", tmp_path / "older", tmp_path / "oldest"
    for folder in (new, older, oldest):
        folder.mkdir()
    migrate = 'call_command("migrate", verbosity=0)\ncall_command("migrate", check_unapplied=True, verbosity=0)\n'
    wanted = json.loads(run(new, migrate + TABLES))
    assert json.loads(run(older, "editions.at()\n" + migrate + TABLES)) == wanted
    some = "editions.at(('comparisons', '0003_figures'), ('uploads', '0002_unpacking'))\n"
    assert json.loads(run(oldest, some + migrate + TABLES)) == wanted


def test_nobody_goes_back_into_the_middle_of_a_squashed_migration(db):
    with pytest.raises(CommandError, match="restore a backup"):
        call_command("migrate", "jobs", "0013", verbosity=0)
    for app, latest in MigrationLoader(connection).graph.leaf_nodes():
        call_command("migrate", app, latest, verbosity=0)
