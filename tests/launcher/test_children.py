"""A child that ends is started again, and told how the one before it ended; so a worker knows whom to blame."""

from __future__ import annotations

import sys

import pytest

from tests.launcher.up import until
from worker.supervisor import children
from worker.supervisor.children import Child

DIE = (
    "import os, signal; print('before me:', repr(os.environ['DRAFTHOUSE_BEFORE']), flush=True); "
    "os.kill(os.getpid(), signal.SIGKILL)"
)


def test_the_first_is_told_of_nobody_and_the_next_how_that_one_ended(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child("one", [sys.executable, "-c", DIE])
    said = ""

    def has_said(words: str) -> bool:
        nonlocal said
        child.tend()
        said += capfd.readouterr().out
        return words in said

    try:
        until(lambda: has_said("before me: 'ended by SIGKILL'"), "the second start")
    finally:
        children.stop([child], 0)
    assert said.index("before me: ''") < said.index("before me: 'ended by SIGKILL'")
