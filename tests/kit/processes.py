"""Processes of this machine, as /proc tells of them, and waits for what they do."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or chooses cores")
DEADLINE = 300.0  # s, for things that take one or two: the machine may be busy


def until(holds: Callable[[], Any], what: str, within: float = DEADLINE) -> Any:
    """Look until something is so, and return what was seen. A look may ask a server that shares this machine, so looks
    take a tenth of the time."""
    deadline = time.monotonic() + within
    while True:
        start = time.monotonic()
        if found := holds():
            return found
        assert start < deadline, f"waited in vain for {what}"
        time.sleep(min(max(10 * (time.monotonic() - start), 0.001), 0.5))


def state(pid: int) -> str:
    """Return R, S, T …; empty if no such process exists, or only its name is left."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[0]
    except OSError:
        return ""
    return "" if letter == "Z" else letter


def family(session: int) -> list[int]:
    """The processes that live in an engine's session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == session:
            found.append(int(folder.name))
    return found
