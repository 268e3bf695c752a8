"""The systemd units start what is there, and systemd can read them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
UNITS = sorted((ROOT / "docker" / "systemd").iterdir())


def test_units_start_modules_that_are_there_and_systemd_finds_nothing_wrong_with_them(tmp_path: Path) -> None:
    """Installed in this checkout, because systemd looks whether the programs are there."""
    started = {module for unit in UNITS for module in re.findall(r"^ExecStart=\S+ -m (\S+)", unit.read_text(), re.M)}
    assert len(started) == 4 and all(map(importlib.util.find_spec, started))
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/drafthouse", str(ROOT)))
    if shutil.which("systemd-analyze"):
        command = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
