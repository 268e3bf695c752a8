"""How commands end where what they write to is not as it should be."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WRITES = (
    "import sys; from worker.terminal.ending import ended; sys.exit(ended(lambda words: print(*words), sys.argv[1:]))"
)


def start(*words: str, **environment: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITES, *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_whoever_reads_only_the_first_lines_gets_them_and_no_traceback() -> None:
    process = start("verdict", *["more" * 1000] * 100)  # more than a pipe holds
    assert process.stdout and process.stderr
    assert process.stdout.read(7) == b"verdict"
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 141)
    process.stderr.close()


def test_a_mark_that_cannot_be_shown_does_not_cost_the_result() -> None:
    out, err = start("●", "static:4", PYTHONIOENCODING="ascii").communicate()
    assert (out, err) == (b"? static:4\n", b"")
