"""A child that ends is started again, and told how the one before it ended; so a worker knows whom to blame."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.launcher.up import until
from worker import leash
from worker.supervisor import children, valkey
from worker.supervisor.children import Child

DIE = (
    "import os, signal; print('before me:', repr(os.environ['DRAFTHOUSE_BEFORE']), flush=True); "
    "os.kill(os.getpid(), signal.SIGKILL)"
)


def heard(child: Child, capfd: pytest.CaptureFixture[str], words: str) -> str:
    """All that is said while the child is tended, until these words were."""
    said = ""

    def has_said() -> bool:
        nonlocal said
        child.tend()
        said += capfd.readouterr().out
        return words in said

    try:
        until(has_said, words)
    finally:
        children.stop([child], 0)
    return said


def test_the_first_is_told_of_nobody_and_the_next_how_that_one_ended(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child("one", [sys.executable, "-c", DIE])
    said = heard(child, capfd, "before me: 'ended by SIGKILL'")
    assert said.index("before me: ''") < said.index("before me: 'ended by SIGKILL'")


def test_what_a_child_writes_in_a_file_is_shown_when_it_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "child.log"
    log.write_text("of a start long ago\n")
    write = f"open({str(log)!r}, 'a').write('a warning\\nno memory left\\n'); import sys; sys.exit(3)"
    child = Child("one", [sys.executable, "-c", write], log=log)
    said = heard(child, capfd, "ended with exit code 3")
    assert "a warning" in said and "no memory left" in said and "long ago" not in said


def test_the_broker_warns_in_its_log_and_not_in_the_terminal(tmp_path: Path) -> None:
    """What it thinks of the machine's settings is no news to who starts Drafthouse."""
    command = valkey.broker(tmp_path).command
    assert command is not None
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=leash.held()
    ) as server:
        try:
            until((tmp_path / "valkey" / "valkey.sock").exists, "the broker")
        finally:
            server.terminate()
        assert server.communicate()[0] == ""
    assert (tmp_path / "valkey" / "valkey.log").exists()
