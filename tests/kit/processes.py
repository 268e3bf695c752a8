"""Processes of this machine, as /proc tells of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or chooses cores")
DEADLINE = 300.0  # s, for things that take one or two: the machine may be busy


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
