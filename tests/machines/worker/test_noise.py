"""Whose cores were they?"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest

from worker import noise
from worker.gauges import CpuTime
from worker.gpus import Gpu
from worker.noise import Mark


def mark(spent: float, idle: float, engine: float, clock: float = 3e3) -> Mark:
    return Mark([CpuTime(spent, idle)], engine, [clock])


QUIET = mark(1000, idle=500, engine=100)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (mark(1200, idle=600, engine=200), ""),  # half idle, half ours
        (mark(1200, idle=600, engine=150), f"Other programs used 25 % of the {os.cpu_count()} cores."),
        (mark(1200, idle=600, engine=200, clock=2e3), "The processor's clock went from 3.00 to 2.00 GHz."),
        (mark(1000.1, idle=500, engine=100), ""),  # too short to tell
        (None, ""),
    ],
)
def test_a_sample_is_noisy_when_others_worked_or_the_clock_moved(after: Mark | None, said: str) -> None:
    assert noise.between(QUIET, after) == said


def gpu(**changes: Any) -> Gpu:
    quiet = Gpu("H", 0.9, 1, 8, clock_mhz=1980, power_w=300.0, temperature_c=60, held_back=[], others=0)
    return dataclasses.replace(quiet, **changes)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (gpu(), ""),
        (gpu(others=2), "H was shared with 2 other programs."),
        (gpu(held_back=["heat", "power cap"]), "H was held back by heat and power cap."),
        (gpu(clock_mhz=1500), "The clock of H went from 1980 to 1500 MHz."),
        (gpu(clock_mhz=2500), ""),  # it had nothing to do before
        (gpu(clock_mhz=None), ""),
    ],
)
def test_a_gpu_makes_a_sample_noisy_too_however_short_it_was(after: Gpu, said: str) -> None:
    before = dataclasses.replace(QUIET, gpus=(gpu(),))
    assert noise.between(before, dataclasses.replace(QUIET, gpus=(after,))) == said


def test_the_work_of_a_server_that_takes_part_is_counted_as_ours() -> None:
    own = os.getpid()
    alone, together = noise.mark(own).engine, noise.mark(own, beside=[own]).engine
    assert alone and together and together >= 2 * alone
