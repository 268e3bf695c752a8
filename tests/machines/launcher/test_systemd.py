"""The systemd units start what is there, and systemd can read them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UNITS = sorted((ROOT / "docker" / "systemd").iterdir())


def test_they_start_the_processes_of_the_compose_file() -> None:
    started = {module for unit in UNITS for module in re.findall(r"^ExecStart=\S+ -m (\S+)", unit.read_text(), re.M)}
    assert started == {"webapp.config.server", "worker", "worker.scheduler", "worker.supervisor.prepare"}
    assert all(importlib.util.find_spec(module) for module in started)


def test_the_page_about_machines_names_each_of_them() -> None:
    page = (ROOT / "docs" / "machines.md").read_text()
    assert [unit.name for unit in UNITS if unit.stem.rstrip("@") not in page] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_them(tmp_path: Path) -> None:
    """Installed in this checkout, because systemd looks whether the programs are there."""
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/drafthouse", str(ROOT)))
    command = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
