"""How commands end: under a limit and by a signal nothing half written stays, and streams may be odd."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.terminal import ROOT, on_pair
from worker.memory import HEADROOM

PATIENCE = 300.0  # s; the machine may be busy
WRITES = (
    "import sys; from worker.terminal.ending import ended; sys.exit(ended(lambda words: print(*words), sys.argv[1:]))"
)


@contextmanager
def started(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def comparing(box: Path, folder: Path) -> tuple[str, ...]:
    files = ("--json", folder / "o.json", "--trace", folder / "o.trace")
    return ("-m", "worker.terminal.compare", *on_pair(box, "--repeats", 5000, *files, tokens=32))


def test_a_command_that_is_told_to_end_removes_what_is_half_written(box: Path, tmp_path: Path) -> None:
    with started(*comparing(box, tmp_path)) as process:
        until_said(process, b"warming up")
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_takes_too_much_memory_is_refused_in_a_sentence(box: Path, tmp_path: Path) -> None:
    with started(*comparing(box, tmp_path), **{HEADROOM: "0.2"}) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (sentence,) = said.decode().strip().splitlines()
    assert sentence.startswith("The command took more than 0.") and f"a larger {HEADROOM} (0.2 now)." in sentence
    assert list(tmp_path.iterdir()) == []


def until_said(process: subprocess.Popen[bytes], words: bytes) -> None:
    assert process.stderr
    said = b""
    while words not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], f"waited in vain for {words!r}, and heard {said!r}"
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, f"it ended before it said {words!r}: {said!r}"
        said += piece


def test_whoever_reads_only_the_first_lines_gets_them_and_a_mark_that_cannot_be_shown_costs_nothing() -> None:
    with started("-c", WRITES, "verdict", *["more" * 1000] * 100) as process:  # more than a pipe holds
        assert process.stdout and process.stderr
        assert process.stdout.read(7) == b"verdict"
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 141)
    with started("-c", WRITES, "●", "static:4", PYTHONIOENCODING="ascii") as process:
        assert process.communicate() == (b"? static:4\n", b"")
