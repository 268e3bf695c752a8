"""A leashed process ends with its holder, however that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.conftest import until

ROOT = Path(__file__).parents[2]
PROGRAM = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
HOLDER = """
import subprocess, sys
from worker import leash
subprocess.run([sys.executable, "-P", *sys.argv[1:]], env=leash.held())
"""
BESIDE = f"""
import os, sys
from worker.leash import HOLDER, stay_beside
stay_beside([sys.executable, "-c", {PROGRAM!r}], int(os.environ[HOLDER]))
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    "how", [["-m", "worker.leash", sys.executable, "-c", PROGRAM], ["-c", BESIDE]], ids=["by the system", "by looking"]
)
def test_a_foreign_program_ends_with_its_holder(how):
    """By looking is the way of systems other than Linux, and works on this one too."""
    command = [sys.executable, "-c", HOLDER, *how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        program = int(holder.stdout.readline())
        assert is_running(program)
        holder.kill()
        until(lambda: not is_running(program), "the program to end")
