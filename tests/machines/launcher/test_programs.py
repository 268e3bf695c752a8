"""Programs that tests need: the first that runs is used, a missing one is installed or named, and CI fails without
it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import CHROMIUM, PROGRAMS, Unusable

ROOT = Path(__file__).parents[3]


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the only folder on the PATH, empty so far; no settings, and no browser of Playwright's."""
    for program in PROGRAMS:
        monkeypatch.delenv(program.setting, raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    return folder


def test_the_first_chromium_that_runs_is_used_of_several_the_newest_and_a_named_one_before_all(
    bare, tmp_path, monkeypatch
):
    script(bare / "chromium", "exit 1  # as Ubuntu's does where there is no snap")
    for number in (998, 1255, 1001):
        own = script(tmp_path / "playwright" / f"chromium-{number}" / "chrome-linux64" / "chrome")
    assert CHROMIUM.find() == own.parents[2] / "chromium-1255" / "chrome-linux64" / "chrome"
    working = script(bare / "google-chrome", "echo Google Chrome 159")
    assert CHROMIUM.find() == working
    monkeypatch.setenv("DRAFTHOUSE_CHROMIUM", str(own))
    assert CHROMIUM.find() == own
    monkeypatch.setenv("DRAFTHOUSE_CHROMIUM", "none")
    assert CHROMIUM.find() is None and CHROMIUM.is_unwanted
    monkeypatch.setenv("DRAFTHOUSE_CHROMIUM", "/nowhere/chrome")
    with pytest.raises(Unusable, match="/nowhere/chrome"):
        CHROMIUM.find()


def test_the_last_line_says_what_was_skipped_and_ci_fails_then(tmp_path):
    two = "import pytest\n@pytest.mark.browser\n@pytest.mark.parametrize('n', [1, 2])\ndef test_page(n): assert False\n"
    (tmp_path / "test_pages.py").write_text(two)
    settings = {"CI": "true", "DRAFTHOUSE_CHROMIUM": "none", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "xdist", "-n", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "2 skipped" in done.stdout, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("2 tests were skipped: Chromium is not on this machine. With CI=true that is a failure.")
