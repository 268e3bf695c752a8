"""Whether a job can have ended a process: read from how that ended and from what the machine counted meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from worker.evidence import Marks, job_may_have_ended_it
from worker.leash import ROOT

QUIET = Marks("boot-1", oom_kills=2)


ENDS = {
    "killed, and memory was there": (-signal.SIGKILL, QUIET, False),
    "nobody saw it": (None, QUIET, False),
    "killed for lack of memory": (-signal.SIGKILL, Marks("boot-1", oom_kills=3), True),
    "nobody saw it, and memory ran out": (None, Marks("boot-1", oom_kills=3), True),
    "went home while memory ran out": (0, Marks("boot-1", oom_kills=3), False),
    "crashed": (-signal.SIGSEGV, QUIET, True),
    "an error": (1, QUIET, True),
    "the machine went down": (None, Marks("boot-2", oom_kills=0), True),
    "killed where nobody counts": (-signal.SIGKILL, Marks("boot-1", oom_kills=None), True),
}


@pytest.mark.parametrize(("code", "now", "may_have"), ENDS.values(), ids=ENDS)
def test_only_what_the_job_can_have_caused_may_be_its_doing(code, now, may_have):
    assert job_may_have_ended_it(code, QUIET, now) is may_have
    assert job_may_have_ended_it(-signal.SIGKILL, Marks("boot-1", 2, is_short=True), now)


def test_a_process_that_crashes_leaves_a_note_for_the_next_and_one_that_is_killed_does_not(tmp_path):
    def left_after(deed: str) -> str:
        """Return the evidence that the next process finds."""
        path = tmp_path / "w1.crash"
        begin = (
            "import os, pathlib, sys; from worker.evidence import CrashNote; n = CrashNote(pathlib.Path(sys.argv[1]))"
        )
        for code in (f"{begin}; {deed}", f"{begin}; print(n.left)"):
            done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    assert "Fatal Python error: Aborted" in left_after("os.abort()")
    assert left_after("os.kill(os.getpid(), 9)") == ""
