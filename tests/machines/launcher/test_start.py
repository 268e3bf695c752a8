"""A start makes files private, refuses a database or a disk that it cannot use, and prints a sign-in link if asked."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.kit.up import DEADLINE, ROOT, Up, environment
from webapp.core import modes

PREPARE = [sys.executable, "-P", "-m", "worker.supervisor.prepare"]
IMPORTED = r"""(?:from|import) ?['"](\..+?)['"]"""
STARTS = {
    "manage.py": [sys.executable, "manage.py", "check", "--database", "default"],
    "prepare": PREPARE,
    "a worker": [sys.executable, "-P", "-m", "worker", "--queue", "cpu"],
    "web": [sys.executable, "-P", "-m", "webapp.config.server", "--port", "0"],
}


def run(command: list[str], data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment(data, REDIS_URL=""),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("data")
    done = run(PREPARE, data)
    assert done.returncode == 0, done.stderr
    assert "/enter/" not in done.stdout + done.stderr
    return data


def test_a_database_is_its_owners_alone_from_the_first_moment(prepared):
    assert (prepared / "drafthouse.sqlite3").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(prepared / "drafthouse.sqlite3")) as other:
        other.execute("SELECT * FROM accounts_user").fetchall()
        assert {path.stat().st_mode & 0o777 for path in prepared.glob("drafthouse.sqlite3*")} == {0o600}


def test_what_pages_and_modules_name_is_collected_under_hashed_names(prepared):
    static = prepared / "static"
    hashed = json.loads((static / "staticfiles.json").read_text())["paths"]
    pages = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    named = set(re.findall(r"""{% static ['"](.+?)['"]""", pages))
    assert len(named) > 10 and named <= hashed.keys()
    assert all((static / name).exists() for name in hashed.values())
    modules = [static / name for origin, name in hashed.items() if origin.startswith("js/")]
    imports = [path.parent / name for path in modules for name in re.findall(IMPORTED, path.read_text())]
    assert len(imports) > 50
    assert {path.resolve() for path in imports} <= {path.resolve() for path in modules}


def test_a_link_and_a_token_of_90_days_are_printed_when_they_are_asked_for(prepared):
    assert run([*PREPARE, "--link"], prepared).stdout.startswith("/enter/")
    assert run([sys.executable, "-P", "-m", "worker.supervisor.token"], prepared).stdout.startswith("dh_")
    with closing(sqlite3.connect(prepared / "drafthouse.sqlite3")) as database:
        [(days,)] = database.execute("SELECT julianday(expires) - julianday(created) FROM accounts_apitoken")
    assert days == pytest.approx(90)


def test_a_folder_where_everybody_keeps_their_own_is_left_as_it_is(tmp_path):
    for mode, tightened in ((0o1777, False), (0o700, False), (0o755, True), (0o770, True)):
        tmp_path.chmod(mode)
        assert modes.tighten(tmp_path, modes.FOLDER) is tightened
        assert tmp_path.stat().st_mode & 0o7777 == (0o700 if tightened else mode)


@pytest.fixture
def damaged(prepared: Path, tmp_path: Path) -> Path:
    """A copy in which the pages behind the first are overwritten."""
    content = bytearray((prepared / "drafthouse.sqlite3").read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    (tmp_path / "drafthouse.sqlite3").write_bytes(content)
    return tmp_path


def test_a_damaged_database_ends_a_start_with_a_sentence_that_names_the_way_back(damaged):
    said = refusal(STARTS["manage.py"], damaged)
    assert "is damaged" in said and "./drafthouse restore FILE" in said


@pytest.fixture
def copied(prepared: Path, tmp_path: Path) -> Path:
    shutil.copytree(prepared, tmp_path / "copied", ignore=shutil.ignore_patterns("chunks", "static"))
    return tmp_path / "copied"


NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '9999_x', '2027-01-01')"
OLDER = "DELETE FROM django_migrations WHERE app = 'jobs' AND name = '0020_time_limit'"


@pytest.mark.parametrize(
    ("name", "query", "told"),
    [
        ("prepare", NEWER, "made by a newer Drafthouse"),
        ("a worker", OLDER, "made by an older Drafthouse"),
        ("web", "", "Copy secrets/secret_key from"),
    ],
)
def test_a_database_of_another_version_or_a_secret_of_this_machine_ends_a_start(copied, name, query, told):
    with closing(sqlite3.connect(copied / "drafthouse.sqlite3")) as other, other:
        other.execute(query)
    if not query:
        (copied / "secrets" / "secret_key").write_text("of this machine")
    assert told in refusal(STARTS[name], copied)


def test_a_folder_that_has_no_room_or_cannot_be_written_is_named_as_the_cause(copied, tiny_disk):
    data = tiny_disk / "data"
    shutil.copytree(copied, data)
    with suppress(OSError):
        (tiny_disk / "filling").write_bytes(bytes(16 * 1024**2))
    assert "The disk is full" in refusal(STARTS["a worker"], data)
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    assert "cannot be written" in refusal(STARTS["prepare"], data)


def refusal(command: list[str], data: Path) -> str:
    done = run(command, data)
    assert done.returncode not in (0, None), done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


STOPPED_EARLY = """  # when it has a job, and before Celery listens for signals
import os, signal, sys
from celery.signals import celeryd_init
from tests.kit.up import until
from worker.__main__ import main

@celeryd_init.connect
def stop(**_):
    from webapp.jobs.models import Job
    until(Job.objects.filter(worker="w1").exists, "a job to be taken")
    os.kill(os.getpid(), signal.SIGTERM)

main(sys.argv[1:])
"""


def test_a_worker_that_starts_without_its_broker_works_and_puts_its_job_down_when_it_is_stopped(prepared, tmp_path):
    data, said = tmp_path / "lab", tmp_path / "said.txt"
    shutil.copytree(prepared, data, ignore=shutil.ignore_patterns("static"))
    env = environment(data, REDIS_URL=f"unix://{tmp_path}/gone.sock")
    command = [sys.executable, "-P", "-c", STOPPED_EARLY, "--queue", "light", "--name", "w1"]
    with said.open("w") as log, subprocess.Popen(command, env=env, stdout=log, stderr=log) as worker:
        assert worker.wait(DEADLINE) == 0, said.read_text()
    assert asked(data, "SELECT 1 FROM jobs_jobevent WHERE sentence LIKE 'w1 was stopped; %'")
    assert not asked(data, "SELECT 1 FROM jobs_job WHERE state = 'running'")
    assert "Exception in thread" not in said.read_text()


def asked(data: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data / "drafthouse.sqlite3", timeout=60)) as database:
        return database.execute(query).fetchall()


def test_up_tightens_its_folder_with_a_line_and_refuses_a_damaged_database(damaged):
    damaged.chmod(0o755)
    up = Up(damaged)
    assert up.process.wait(DEADLINE) == 1
    assert f"Other users could read {damaged}; from now on only you can." in up.said
    assert damaged.stat().st_mode & 0o777 == 0o700
    assert "./drafthouse restore FILE" in up.said and "Traceback" not in up.said
