"""The migrations make the tables that the models state, and every migration can be taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.core.management import call_command

ROOT = Path(__file__).parents[2]


def test_no_model_has_changed_without_a_migration(db):
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_all_of_them_go_forth_and_back_and_forth(tmp_path):
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/one.sqlite3"}
    code = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
for app in ("comparisons", "studies", "registry", "uploads", "jobs", "accounts", "core"):
    call_command("migrate", app, "zero", verbosity=0)
call_command("migrate", verbosity=0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
