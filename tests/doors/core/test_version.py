"""The version tells builds apart: it holds the commit, of a clone or of an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from webapp.core.version import ROOT, release

ASK = [sys.executable, "-c", "from webapp.core.version import version; print(version())"]


def told(**environment: str) -> str:
    env = {**os.environ, "DRAFTHOUSE_COMMIT": "", **environment}
    return subprocess.run(ASK, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(not ((ROOT / ".git").exists() and shutil.which("git")), reason="this is no checkout of git")
def test_an_image_tells_the_commit_that_it_was_built_from_and_a_clone_asks_git():
    assert told(DRAFTHOUSE_COMMIT="0123456789abcdef") == f"{release()}+g0123456789ab"
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told(GIT_DIR="/nowhere") == f"{release()}+g{asked.stdout[:12]}"
