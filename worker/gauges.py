"""Readings of the machine, from the kernel's own counters: they cost a running sample nothing. A reading that a system
lacks is empty."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC, SYS = Path("/proc"), Path("/sys")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Ticks:
    """Time of one core, or of all together, since the machine was started, in ticks of about 10 ms."""

    all: int
    idle: int


def ticks() -> list[Ticks]:
    """Read the ticks of all cores together, then of each."""
    try:
        lines = (PROC / "stat").read_text().splitlines()
    except OSError:
        return []
    counts = [[int(word) for word in line.split()[1:9]] for line in lines if line.startswith("cpu")]
    return [Ticks(sum(count), count[3] + count[4]) for count in counts]


def family(pid: int) -> list[int]:
    """A process and all that it has started and that still run."""
    found = [pid]
    for member in found:
        for children in (PROC / str(member) / "task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue  # that thread has just ended
    return found


def ticks_of(pid: int) -> int | None:
    """Ticks of a process and all its descendants, ended ones too; None when the process itself is gone."""
    spent = [_spent(member) for member in family(pid)]
    return None if spent[0] is None else sum(ticks or 0 for ticks in spent)


def _spent(pid: int) -> int | None:
    try:
        cells = (PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return sum(int(cell) for cell in cells[11:15])  # of its own and of its ended children, in programs and kernel


def clocks_mhz() -> list[float]:
    """Clock of each core."""
    files = sorted((SYS / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    if files:
        return [int(path.read_text()) / 1000 for path in files]
    try:
        lines = (PROC / "cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]


def memory() -> tuple[int, int] | None:
    """Bytes in use and bytes there are."""
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
    except OSError:
        return None
    kib = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
    return (kib["MemTotal"] - kib["MemAvailable"]) * 1024, kib["MemTotal"] * 1024


def oom_kills() -> int | None:
    """Processes that the kernel has killed for lack of memory since the machine was started, in containers too."""
    with suppress(OSError, StopIteration):
        lines = (PROC / "vmstat").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("oom_kill ")).split()[1])
    return None


def boot() -> str:
    """Id of this start of the machine, the same for all its containers; empty where the system has none."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return ""


def is_stopped(pid: int) -> bool:
    """Whether somebody has sent the process SIGSTOP."""
    with suppress(OSError):
        return (PROC / str(pid) / "stat").read_text().rpartition(") ")[2][0] in "Tt"
    return False


def memory_limit() -> int | None:
    """Bytes that all programs here may hold together: the machine's, or fewer in a container."""
    there = memory()
    with suppress(OSError, ValueError):  # there is no limit, or it is "max"
        limit = int((SYS / "fs/cgroup/memory.max").read_text())
        return min(limit, there[1]) if there else limit
    return there[1] if there else None


def memory_of(pid: int) -> int:
    """Bytes that the family has in memory. What its members share is counted for each."""
    total = 0
    for member in family(pid):
        try:
            total += int((PROC / str(member) / "statm").read_text().split()[1]) * PAGE
        except OSError:
            continue
    return total


def temperature_c() -> float | None:
    """Temperature of the hottest sensor."""
    found = []
    for sensor in (*SYS.glob("class/thermal/thermal_zone*/temp"), *SYS.glob("class/hwmon/hwmon*/temp*_input")):
        try:
            found.append(int(sensor.read_text()) / 1000)
        except (OSError, ValueError):
            continue  # it is listed, and has nothing to say
    return max(found, default=None)
