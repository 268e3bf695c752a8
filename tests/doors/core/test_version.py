"""The version tells builds apart: it holds the commit, of a clone or of an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.core import version
from webapp.core.version import ROOT, release

ASK = [sys.executable, "-c", "from webapp.core.version import version; print(version())"]


def told(**environment: str) -> str:
    env = {**os.environ, "DRAFTHOUSE_COMMIT": "", **environment}
    return subprocess.run(ASK, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_an_image_tells_the_commit_that_it_was_built_from():
    assert told(DRAFTHOUSE_COMMIT="0123456789abcdef") == f"{release()}+g0123456789ab"


@pytest.mark.skipif(not ((ROOT / ".git").exists() and shutil.which("git")), reason="this is no checkout of git")
def test_a_clone_asks_git():
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told(GIT_DIR="/nowhere") == f"{release()}+g{asked.stdout[:12]}"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("git"), reason="only root can give a clone away")
def test_a_service_that_runs_in_the_clone_of_another_user_tells_its_commit(tmp_path):
    """Git alone refuses that. systemd's units run as a user of their own."""
    file = tmp_path / "webapp" / "core" / "version.py"
    file.parent.mkdir(parents=True)
    file.write_bytes(Path(version.__file__).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text("## 1.0\n")
    own = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*own, "init", "--quiet"], check=True)
    subprocess.run([*own, "commit", "--quiet", "--allow-empty", "--message=one"], check=True)
    for path in (tmp_path, tmp_path / ".git"):
        os.chown(path, 12345, -1)
    env = {**os.environ, "DRAFTHOUSE_COMMIT": ""}
    told = subprocess.run([sys.executable, file], env=env, capture_output=True, text=True, check=True).stdout
    assert told.startswith("drafthouse 1.0+g")
