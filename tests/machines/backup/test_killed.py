"""A backup or a restore that is killed at any moment leaves nothing half done, and the next one succeeds."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.backup.lab import ROOT, Lab, killed
from webapp.backup import switching


def test_a_killed_backup_leaves_the_one_before(sqlite_copy: Lab, tmp_path: Path) -> None:
    large = sqlite_copy
    large.python(
        "import os\nfrom webapp.accounts.models import Team\nfrom webapp.uploads import services\n"
        "from webapp.accounts import actor\nfrom webapp.accounts.models import User\n"
        "by = actor.of_user(User.objects.get(username='alice'))\n"
        "services.keep(team=by.home, name='large', files=[('x', os.urandom(60_000_000))], by=by)"
    )
    file, part = tmp_path / "lab.tar", tmp_path / "lab.tar.part"
    large.do("backup", file)
    before = file.read_bytes()
    killed(large.start("backup", file), lambda: part.exists() and part.stat().st_size > 1_000_000)
    assert file.read_bytes() == before
    large.do("backup", file)
    assert not part.exists()
    assert "The file is whole." in large.do("restore", file, "--check")


def _places(folder: Path) -> tuple[Path, Path]:
    """Make a folder with an old database and old secrets, and new ones staged."""
    database, secrets = folder / "db", folder / "secrets"
    for ending in ("", "-wal"):
        (folder / f"db{ending}").write_text("old")
    switching.staged(database).write_text("new")
    for path, content in ((secrets, "old"), (switching.staged(secrets), "new")):
        path.mkdir()
        (path / "key").write_text(content)
    return database, secrets


SWITCH = """
import os, signal, sys
from pathlib import Path
from webapp.backup import switching
folder, left = Path(sys.argv[1]), int(sys.argv[2])

def look(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.rmdir") and str(arguments[0]).startswith(str(folder)):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(look)
switching.switch(folder, [folder / "db", folder / "secrets"], "then", keeps_old=True)
"""


def _switch_but_die(folder: Path, at: int) -> int:
    """Switch in a process that is killed right before its n-th rename or deletion; return its exit code."""
    return subprocess.run([sys.executable, "-c", SWITCH, folder, str(at)], cwd=ROOT, check=False).returncode


STEPS = 10  # the journal comes and goes; for both a new one, and an old one that might have two companions


@pytest.mark.parametrize("at", range(1, STEPS + 2))
def test_an_exchange_that_is_killed_is_finished_by_whoever_starts_next(tmp_path: Path, at: int) -> None:
    database, secrets = _places(tmp_path)
    assert _switch_but_die(tmp_path, at) == (-signal.SIGKILL if at <= STEPS else 0)
    switching.finish(tmp_path)
    wanted = "old" if at == 1 else "new"
    assert (database.read_text(), (secrets / "key").read_text()) == (wanted, wanted)
    assert (tmp_path / "db-wal").exists() == (at == 1)
    if at > 1:
        assert (tmp_path / "db.before-then").read_text() == (tmp_path / "db.before-then-wal").read_text() == "old"
        assert (tmp_path / "secrets.before-then" / "key").read_text() == "old"
    assert not (tmp_path / switching.JOURNAL).exists()


def test_a_start_finishes_an_exchange_that_was_killed_and_makes_no_lab_in_use(backup: Path, tmp_path: Path) -> None:
    _places(tmp_path)
    _switch_but_die(tmp_path, 3)
    assert (tmp_path / switching.JOURNAL).exists()
    started = Lab(tmp_path, f"sqlite:///{tmp_path}/another")
    command = [sys.executable, "-P", "-m", "worker.supervisor.prepare"]
    subprocess.run(command, env=started.env, capture_output=True, check=True)
    assert started.secrets()["key"] == "new"
    assert not (tmp_path / switching.JOURNAL).exists()
    started.do("restore", backup)
