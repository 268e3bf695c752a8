"""Readings of the machine and of processes, from the kernel's own counters: they cost a running sample next to nothing.
A reading that a system lacks is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import psutil
except ImportError:  # a command shows its --help before anything is installed
    psutil = None  # type: ignore[assignment]

HAS_PSUTIL = psutil is not None
PROC, SYS = Path("/proc"), Path("/sys")


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Time of one core, or of all together, since the machine was started, in seconds."""

    all: float
    idle: float


def cpu_times() -> list[CpuTime]:
    """Read the time of all cores together, then of each."""
    cores = [
        CpuTime(sum(core[:8]), core.idle + getattr(core, "iowait", 0.0))  # what follows the 8 is part of them
        for core in psutil.cpu_times(percpu=True)
    ]
    return [CpuTime(sum(core.all for core in cores), sum(core.idle for core in cores)), *cores]


def family(pid: int) -> list[int]:
    """A process and all that it has started and that still run. Linux lists a process's children, so nobody has to look
    at every process of the machine, as psutil does."""
    found = [pid]
    if not PROC.exists():
        with suppress(psutil.Error):
            found += [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return found
    for member in found:
        for children in (PROC / str(member) / "task").glob("*/children"):
            with suppress(OSError):  # that thread has just ended
                found += [int(child) for child in children.read_text().split()]
    return found


def cpu_time_of(pid: int) -> float | None:
    """Seconds of a process and all its descendants, ended ones too; None when the process itself is gone."""
    spent = [_spent(member) for member in family(pid)]
    return None if spent[0] is None else sum(seconds or 0.0 for seconds in spent)


def _spent(pid: int) -> float | None:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return None


def clocks_mhz() -> list[float]:
    """Clock of each core."""
    with suppress(OSError, RuntimeError, NotImplementedError):
        return [clock.current for clock in psutil.cpu_freq(percpu=True)]
    return []


def memory() -> tuple[int, int]:
    """Bytes in use and bytes there are."""
    found = psutil.virtual_memory()
    return found.total - found.available, found.total


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
    with suppress(psutil.Error):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False


def memory_limit() -> int:
    """Bytes that all programs here may hold together: the machine's, or fewer in a container."""
    _, there = memory()
    with suppress(OSError, ValueError):  # there is no limit, or it is "max"
        return min(int((SYS / "fs/cgroup/memory.max").read_text()), there)
    return there


def memory_of(pid: int) -> int:
    """Bytes that the family has in memory. What its members share is counted for each."""
    return sum(held(member)[0] for member in family(pid))


def held(pid: int) -> tuple[int, int]:
    """Bytes that a process has in memory, and how many of them it may share with others; none when it is gone."""
    with suppress(psutil.Error):
        found = psutil.Process(pid).memory_info()
        return found.rss, getattr(found, "shared", 0)
    return 0, 0


def process_at(port: int) -> int | None:
    """Find the process that listens at a port of this machine; None if the system does not let us see it."""
    with suppress(psutil.Error):
        every = psutil.net_connections("tcp")
        return next((one.pid for one in every if one.status == psutil.CONN_LISTEN and one.laddr[1:] == (port,)), None)
    return None


def command_of(pid: int) -> str:
    """Program and arguments of a process; empty when it is gone, or somebody else's."""
    with suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline())
    return ""


def temperature_c() -> float | None:
    """Temperature of the hottest sensor."""
    sensors: Mapping[str, Sequence[Any]] = getattr(psutil, "sensors_temperatures", dict)()
    return max((one.current for each in sensors.values() for one in each), default=None)
