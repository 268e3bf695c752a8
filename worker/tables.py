"""A Parquet file's rows as JSON lines, read by a process that may be ended at any time (worker/reading_parquet.py)."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from webapp.core.problems import Invalid
from webapp.registry.prompt_sets import LARGEST_PROMPT_FILE, MOST_PROMPTS
from worker import leash
from worker.database import Stopped
from worker.disk import NotNow
from worker.evidence import Marks, how_it_ended, job_may_have_ended_it, marks
from worker.reading_parquet import REFUSED

MEMORY = 1 << 30  # bytes that reading a table may take
MEND = "Correct the file, or send its rows as JSON lines."


def check_size(name: str, size: int) -> None:
    """Packed larger than its rows may be unpacked, it need not be opened."""
    if size > LARGEST_PROMPT_FILE:
        raise Invalid(
            f"{name} has {size} bytes; a prompt file may have at most {LARGEST_PROMPT_FILE}.",
            code="bad-table",
            hint="Send fewer rows, or only the columns that prompts are made of.",
        )


@contextmanager
def rows(path: Path, name: str, may_go_on: Callable[[], bool], memory: int = MEMORY) -> Iterator[Lines]:
    """Read to its end, or it raises Invalid with the number of the row that is wrong."""
    bounds = map(str, (MOST_PROMPTS, LARGEST_PROMPT_FILE, memory))
    command = [sys.executable, "-P", "-m", "worker.reading_parquet", str(path), *bounds]
    before = marks()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, env=leash.held(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield Lines(process.stdout, may_go_on)
            code = process.wait()
        finally:
            process.kill()
        if code:
            errors.seek(0)
            raise _refusal(name, code, errors.read().decode(errors="replace"), before)


class Lines:
    def __init__(self, stream: IO[bytes], may_go_on: Callable[[], bool]) -> None:
        self._stream = stream
        self._may_go_on = may_go_on

    def read(self, size: int) -> bytes:
        if not self._may_go_on():
            raise Stopped
        return self._stream.read(size)


def _refusal(name: str, code: int, stderr: str, before: Marks) -> Exception:
    if not job_may_have_ended_it(code, before, marks()):
        return NotNow(f"The process that read {name} was {how_it_ended(code)}.")
    if code == REFUSED:
        return Invalid(f"{name}, {stderr.splitlines()[-1]}", code="bad-table", hint=MEND)
    if code == -signal.SIGABRT or "MemoryError" in stderr:
        why = "wants more memory than a table may take"
    else:
        why = "brought down the process that read it"
    return Invalid(f"{name} {why}.", code="bad-table", hint=MEND)
