"""Was the machine ours while a sample was decoded?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worker import gauges, gpus
from worker.gauges import CpuTime
from worker.gpus import Gpu

SHARED = 0.10  # of all cores, used by others: from here on a sample is called noisy
CLOCK_MOVED = 0.05
LEAST_S = 0.2  # of all cores together; less is too coarse to tell


@dataclass(frozen=True, slots=True)
class Mark:
    """Counters of the machine and of an engine at one moment."""

    cores: Sequence[CpuTime]  # all together, then each
    engine: float | None  # seconds of it and all it has started; None if it is gone
    clocks: Sequence[float]  # MHz of each core; empty where it is not told
    gpus: Sequence[Gpu] = ()

    @property
    def clock(self) -> float:
        return sum(self.clocks) / len(self.clocks) if self.clocks else 0.0


def mark(engine_pid: int | None, beside: Iterable[int] = ()) -> Mark:
    """Read the counters. Programs `beside` the engine take part in the measurement, such as a server."""
    engine = gauges.cpu_time_of(engine_pid) if engine_pid else None
    if engine is not None:
        engine += sum(gauges.cpu_time_of(pid) or 0.0 for pid in beside)
    ours = gauges.family(engine_pid) if engine_pid else ()
    return Mark(gauges.cpu_times(), engine, gauges.clocks_mhz(), gpus.read(ours))


def between(before: Mark | None, after: Mark | None) -> str:
    """Why the sample in between is noisy, as a sentence; nothing if it is not, or if nobody can say."""
    if before is None or after is None or None in (before.engine, after.engine):
        return ""
    for one, other in zip(before.gpus, after.gpus, strict=False):
        if sentence := _gpu(one, other):
            return sentence
    others = share_of_others(before, after)
    if others is None:
        return ""
    if others > SHARED:
        return f"Other programs used {100 * others:.0f} % of the {os.cpu_count()} cores."
    if _moved(before.clock, after.clock):
        return f"The processor's clock went from {before.clock / 1e3:.2f} to {after.clock / 1e3:.2f} GHz."
    return ""


def share_of_others(before: Mark | None, after: Mark | None) -> float | None:
    """Share of all cores that other programs used in between; None if nobody can say."""
    if before is None or after is None or before.engine is None or after.engine is None:
        return None
    was, now = before.cores[0], after.cores[0]
    if (whole := now.all - was.all) < LEAST_S:
        return None
    return max(0.0, (whole - (now.idle - was.idle) - (after.engine - before.engine)) / whole)


def _gpu(before: Gpu, after: Gpu) -> str:
    """Why a GPU was noisy. A clock that rises is that of a GPU that had nothing to do before."""
    if others := max(before.others, after.others):
        return f"{after.name} was shared with {others} other program{'s' * (others > 1)}."
    if after.held_back:
        return f"{after.name} was held back by {' and '.join(after.held_back)}."
    if before.clock_mhz and after.clock_mhz and after.clock_mhz < (1 - CLOCK_MOVED) * before.clock_mhz:
        return f"The clock of {after.name} went from {before.clock_mhz} to {after.clock_mhz} MHz."
    return ""


def _moved(before: float, after: float) -> bool:
    return bool(before and after) and abs(after / before - 1) > CLOCK_MOVED
