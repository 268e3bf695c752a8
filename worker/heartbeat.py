"""A file that a process touches whenever it has reached the database. `python -m worker.heartbeat` checks its age.

This is the health check of containers. It reads a file because starting Django would cost a second of the processor
that a worker is measuring with.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

FILE = "DRAFTHOUSE_HEARTBEAT"  # where the file is; unset, nothing is written
LONGEST_SILENCE = 20.0  # s, after which the queue counts a worker as gone too


def beat() -> None:
    path = os.environ.get(FILE)
    if path:
        Path(path).touch()


def trouble(path: str) -> str:
    """Empty while the process is healthy."""
    try:
        age = datetime.now(UTC).timestamp() - Path(path).stat().st_mtime
    except OSError:
        return "This process has not reached the database since it started."
    return f"This process last reached the database {age:.0f} s ago." if age > LONGEST_SILENCE else ""


if __name__ == "__main__":
    sys.exit(trouble(os.environ[FILE]) or 0)
