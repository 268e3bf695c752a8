"""Was the machine ours while a sample was decoded? Read from the kernel's own counters, so it costs nothing while a
sample runs. Where the system has none, nobody can say and no sample is called noisy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SHARED = 0.10  # of all cores, used by others: from here on a sample is called noisy
CLOCK_MOVED = 0.05
LEAST_TICKS = 20  # of all cores together; less is too coarse to tell
STAT, CLOCKS = Path("/proc/stat"), Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the counters said at one moment, in ticks of some ten milliseconds."""

    all: int
    idle: int
    engine: int
    clock: float  # kHz, mean over cores; 0 where it is not told


def mark(engine_pid: int | None) -> Mark | None:
    if engine_pid is None or not STAT.exists():
        return None
    try:
        ticks = [int(word) for word in STAT.read_text().partition("\n")[0].split()[1:9]]
        own = Path(f"/proc/{engine_pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None  # the engine is gone
    return Mark(sum(ticks), ticks[3] + ticks[4], int(own[11]) + int(own[12]), _clock())


def between(before: Mark | None, after: Mark | None) -> str:
    """Why the sample in between is noisy, as a sentence; nothing if it is not, or if nobody can say."""
    if before is None or after is None or after.all - before.all < LEAST_TICKS:
        return ""
    whole = after.all - before.all
    others = (whole - (after.idle - before.idle) - (after.engine - before.engine)) / whole
    if others > SHARED:
        return f"Other programs used {others:.0%} of the {os.cpu_count()} cores."
    if before.clock and abs(after.clock / before.clock - 1) > CLOCK_MOVED:
        return f"The processor's clock went from {before.clock / 1e6:.2f} to {after.clock / 1e6:.2f} GHz."
    return ""


def _clock() -> float:
    found = [int(path.read_text()) for path in CLOCKS.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")]
    return sum(found) / len(found) if found else 0.0
