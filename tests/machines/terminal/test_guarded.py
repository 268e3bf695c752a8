"""A command under a limit: it ends with a sentence, and leaves nothing half written, however it is ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.terminal import ROOT, on_pair
from worker.memory import HEADROOM

PATIENCE = 300.0  # s; the machine may be busy


@contextmanager
def comparing(box: Path, *more: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    asked = on_pair(box, "--repeats", 5000, *more, tokens=32)
    with subprocess.Popen(
        [sys.executable, "-m", "worker.terminal.compare", *asked],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_removes_what_is_half_written(box, tmp_path, number):
    with comparing(box, "--json", str(tmp_path / "o.json"), "--trace", str(tmp_path / "o.trace")) as process:
        assert process.stderr
        until_said(process, "warming up")
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_takes_too_much_memory_is_refused_in_a_sentence(box: Path, tmp_path: Path) -> None:
    with comparing(box, "--json", str(tmp_path / "o.json"), **{HEADROOM: "0.2"}) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (sentence,) = said.strip().splitlines()
    assert sentence.startswith("The command took more than 0.") and f"a larger {HEADROOM} (0.2 now)." in sentence
    assert list(tmp_path.iterdir()) == []


def until_said(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr
    said = ""
    while words not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], f"waited in vain for {words!r}, and heard {said}"
        piece = os.read(process.stderr.fileno(), 4096).decode()
        assert piece, f"it ended before it said {words!r}: {said}"
        said += piece
