"""Rows of a Parquet file as JSON lines, read by a process that may be ended at any time (worker/reading_parquet.py)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from webapp.core.problems import Invalid
from webapp.registry.prompt_sets import LARGEST_PROMPT_FILE, MOST_PROMPTS
from worker import apart
from worker.evidence import job_may_have_ended_it, marks
from worker.reading_parquet import UnreadableParquet

TOO_LARGE = "wants more memory than a table may take."
MEMORY = 1 << 30  # bytes that reading a table may take
BadTable = partial(Invalid, code="bad-table", hint="Correct the file, or send its rows as JSON lines.")


def check_size(name: str, size: int) -> None:
    """Packed larger than its rows may be unpacked, it need not be opened."""
    if size > LARGEST_PROMPT_FILE:
        raise BadTable(
            f"{name} has {size} bytes; a prompt file may have at most {LARGEST_PROMPT_FILE}.",
            hint="Send fewer rows, or only the columns that prompts are made of.",
        )


def as_json_lines(path: Path, name: str, may_go_on: Callable[[], bool], memory: int = MEMORY) -> Path:
    """Return a file of the rows, beside the table. Raise Invalid with the number of the row that is wrong."""
    lines, before = path.with_name(f"{path.name}.jsonl"), marks()
    try:
        apart.run(
            "worker.reading_parquet:write",
            *map(str, (path, lines, MOST_PROMPTS, LARGEST_PROMPT_FILE, memory)),
            doing=f"{name} could not be read",
            told=(UnreadableParquet, MemoryError),
            may_go_on=may_go_on,
        )
    except UnreadableParquet as refusal:
        raise BadTable(f"{name}, {refusal}") from None
    except MemoryError:
        raise BadTable(f"{name} {TOO_LARGE}") from None
    except apart.Died as death:
        if not job_may_have_ended_it(death.code, before, marks()):
            raise
        why = TOO_LARGE if death.code == -signal.SIGABRT else "brought down the process that read it."
        raise BadTable(f"{name} {why}") from None
    return lines
