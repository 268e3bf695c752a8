"""`./drafthouse doctor` finds what is broken, and says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from tests.kit.live import valkey  # noqa: F401
from tests.kit.stores import bucket, s3_server  # noqa: F401
from webapp.core import fingerprints
from webapp.jobs import services as jobs
from worker.supervisor import doctor

ROOT = Path(__file__).parents[3]


@pytest.fixture
def well(transactional_db, settings, valkey):  # noqa: F811
    """A whole installation."""
    settings.REDIS_URL, settings.ALLOWED_HOSTS = valkey, settings.LOCAL_HOSTS
    fingerprints.keep()
    for queue in ("cpu", "light"):
        jobs.register_worker(name=f"{queue}-1@here", queues=[queue], devices=[], versions={})


def amiss(**options: bool) -> dict[str, tuple[str, str]]:
    found = doctor.examined(**{"for_pages": True, **options})
    return {name: (level, sentence) for name, level, sentence in found if level != "ok"}


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_whole_installation_is_well(well, place, request):
    if place == "bucket":
        request.getfixturevalue("bucket")
    assert amiss() == {}


@pytest.mark.parametrize(
    ("part", "changes", "level", "advice"),
    [
        ("broker", {"REDIS_URL": "unix:///nowhere.sock"}, "broken", "check REDIS_URL"),
        ("store", {"S3_BUCKET": "b", "S3_ENDPOINT": "http://127.0.0.1:1"}, "broken", "DRAFTHOUSE_S3_"),
        ("secrets", {"SECRET_KEY": "of another machine"}, "broken", "Copy secrets/secret_key"),
        ("disk", {"LEAST_FREE_BYTES": 1 << 60}, "broken", "Free some space"),
        ("models", {"MODEL_ROOTS": [Path("/nowhere")]}, "broken", "Mount it"),
        ("proxies", {"HTTPS": True}, "note", "Name the proxy's address"),
        ("proxies", {"ALLOWED_HOSTS": ["lab.test"]}, "note", "docs/proxy.md"),
    ],
)
def test_what_is_amiss_is_told_with_what_to_do(well, settings, part, changes, level, advice):
    for name, value in changes.items():
        setattr(settings, name, value)
    found = amiss()
    assert list(found) == [part] and found[part][0] == level and advice in found[part][1]


def test_a_clock_that_differs_from_the_databases_is_told(well, monkeypatch):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no clock of its own; test_on_postgres.py runs this on a server")
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)
    level, sentence = amiss()["clock"]
    assert level == "broken" and "86400 s ahead of the database's" in sentence


def test_a_lab_without_workers_is_broken_and_one_without_a_light_one_too(transactional_db, settings):
    assert "--queue cpu" in amiss()["workers"][1]
    jobs.register_worker(name="cpu-1@here", queues=["cpu"], devices=[], versions={})
    assert "--queue light" in amiss()["workers"][1]


def test_gpus_that_torch_cannot_use_are_told(well, monkeypatch, tmp_path):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 0, GPU-1f3a\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1f3a")  # which no machine has
    assert "PyTorch cannot use them" in amiss()["gpu"][1]


def test_a_machine_of_workers_needs_neither_static_files_nor_the_secrets(well, settings):
    settings.SECRET_KEY = "of this machine"
    settings.STORAGES = {"staticfiles": {"BACKEND": "webapp.core.static.HashedStatic"}}
    assert {name: level for name, (level, _) in amiss().items()} == {"secrets": "broken", "static": "broken"}
    assert {name: level for name, (level, _) in amiss(for_pages=False).items()} == {"secrets": "note"}


def test_a_database_that_is_away_is_told_in_the_words_of_its_driver(tmp_path):
    command = [sys.executable, "-m", "worker.supervisor.doctor", "--worker", "--data", str(tmp_path)]
    env = {**os.environ, "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    told = {line.split()[1]: line for line in done.stdout.splitlines()[1:]}
    assert done.returncode == 1 and "127.0.0.1" in told["database"], done.stderr
    assert told["workers"].startswith("broken") and told["disk"].startswith("ok")
