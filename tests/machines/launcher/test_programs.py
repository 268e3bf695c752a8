"""Programs that tests need: the first that runs is used, a missing one is installed or named, and CI fails without
it."""

import os
import subprocess
import sys
import venv
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


def test_on_debian_what_is_missing_comes_as_packages(bare: Path, tmp_path: Path) -> None:
    """Asked as `./drafthouse test` does first, with a Python of its own that has no packages."""
    script(
        bare / "apt-get",
        f'echo "$@" >> {bare}/asked',
        '[ "$1" = update ] && exit 0',
        f'for package; do :; done; echo "#!/bin/sh" > {bare}/$package; /bin/chmod 755 {bare}/$package',
    )
    script(bare / "sudo", "shift", '[ "$1" = true ] && exit 0', "shift 2", 'exec "$@"')
    script(bare / "curl")
    venv.create(tmp_path / "venv", symlinks=True)
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-P", "-m", "tests.installing"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DRAFTHOUSE_POSTGRES": "none"}, capture_output=True, text=True,
    )  # fmt: skip
    missing = "Chromium is not on this machine. Installing Debian's package chromium-headless-shell … done\n"
    assert (done.returncode, done.stderr) == (0, missing)
    install = "install -q -y --no-install-recommends chromium-headless-shell"
    assert (bare / "asked").read_text().splitlines() == ["update -q", install]


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
