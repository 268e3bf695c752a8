"""Whose cores were they?"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.worker.conftest import until
from worker import noise
from worker.noise import Mark

QUIET = Mark(all=1000, idle=500, engine=100, clock=3e6)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (Mark(all=1200, idle=600, engine=200, clock=3e6), ""),  # half idle, half ours
        (Mark(all=1200, idle=600, engine=150, clock=3e6), f"Other programs used 25% of the {os.cpu_count()} cores."),
        (Mark(all=1200, idle=600, engine=200, clock=2e6), "The processor's clock went from 3.00 to 2.00 GHz."),
        (Mark(all=1010, idle=500, engine=100, clock=3e6), ""),  # too short to tell
        (None, ""),
    ],
)
def test_a_sample_is_noisy_when_others_worked_or_the_clock_moved(after: Mark | None, said: str) -> None:
    assert noise.between(QUIET, after) == said


def test_a_busy_neighbour_is_seen_in_earnest() -> None:
    """This process stands for an engine that idles; the neighbour works."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        try:
            before = noise.mark(os.getpid())
            until(lambda: noise.between(before, noise.mark(os.getpid())), "the neighbour's work to show")
        finally:
            neighbour.kill()
