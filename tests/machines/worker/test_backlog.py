"""First in, first out, whatever memory holds; and whoever puts something in never waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from worker.backlog import Backlog

ROOT = Path(__file__).parents[3]


def drained(backlog: Backlog) -> list[bytes]:
    found = []
    while (message := backlog.get(0)) is not None:
        found.append(message)
    return found


def test_what_memory_does_not_hold_waits_on_disk_in_the_same_order() -> None:
    backlog = Backlog(in_memory=50)
    sent = [bytes([n]) * 20 for n in range(30)]
    for message in sent[:10]:
        backlog.put(message)
    assert [backlog.get(0) for _ in range(5)] == sent[:5]
    for message in sent[10:]:
        backlog.put(message)
    assert drained(backlog) == sent[5:]
    backlog.put(b"and on")
    assert drained(backlog) == [b"and on"]


def test_the_end_is_told_only_when_all_is_out() -> None:
    backlog = Backlog(in_memory=1)
    backlog.put(b"one")
    backlog.close()
    assert not backlog.is_over
    assert (backlog.get(0), backlog.get(0)) == (b"one", None)
    assert backlog.is_over


FULL_DISK = """
import resource
from worker.backlog import Backlog
backlog = Backlog(in_memory=50)
sent = [bytes([n]) * 20 for n in range(30)]
for message in sent[:10]:
    backlog.put(message)
resource.setrlimit(resource.RLIMIT_FSIZE, (170, -1))  # the file holds 160 bytes now: from here on the disk is full
for message in sent[10:20]:
    backlog.put(message)
out = [backlog.get(0) for _ in range(12)]
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
for message in sent[20:]:
    backlog.put(message)
while (message := backlog.get(0)) is not None:
    out.append(message)
assert out == sent, out
"""


def test_on_a_full_disk_memory_has_to_do_and_nothing_is_lost() -> None:
    """In a process of its own, whose files may not grow."""
    done = subprocess.run([sys.executable, "-c", FULL_DISK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
