"""Which processor cores a target and a draft that run at once have, each for itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """`target` and `draft` are the processor's numbers; both are empty where the system lets nobody choose."""

    count: int
    target: tuple[int, ...] = ()
    draft: tuple[int, ...] = ()

    def with_target_on(self, device: torch.device) -> str:
        """Who has what, for people."""
        if device.type != "cpu":
            return f"{device} for the target, {f'core {self.draft[0]}' if self.draft else 'a core'} for the draft"
        if not self.draft:
            return f"{self.count} cores, one of them for the draft; this system does not let us choose which"
        return f"{self.count} cores: target on {_listed(self.target)}, draft on {_listed(self.draft)}"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """This process keeps off the draft's core. A thread that was started meanwhile stays where its starter was."""
        threads = torch.get_num_threads()
        before = {thread: os.sched_getaffinity(thread) for thread in _threads()} if self.target else {}
        torch.set_num_threads(max(1, min(threads, self.count - 1)))
        for thread in before:
            _pin(thread, self.target)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            for thread, cores in before.items():
                _pin(thread, cores)


def divide() -> Cores | None:
    """The draft gets the last core, the target the others. None where there is only one."""
    if not hasattr(os, "sched_getaffinity"):
        count = os.cpu_count() or 1
        return Cores(count) if count > 1 else None
    if _quota() < 2:
        return None
    allowed = sorted(os.sched_getaffinity(0))
    draft = allowed[-1]
    target = tuple(core for core in allowed if core not in _siblings(draft))
    return Cores(len(target) + 1, target, (draft,)) if target else None


def _quota() -> float:
    """How many cores' worth of time this container may use."""
    told = Path("/sys/fs/cgroup/cpu.max")
    used, _, period = told.read_text().partition(" ") if told.exists() else ("max", "", "")
    return float("inf") if used == "max" else int(used) / int(period)


def _siblings(core: int) -> set[int]:
    """The core and those that are the same one under another number: two threads of one core do not run at once."""
    told = CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"
    if not told.exists():
        return {core}
    ranges = [part.partition("-") for part in told.read_text().strip().split(",")]
    return {core for first, _, last in ranges for core in range(int(first), int(last or first) + 1)}


def _threads() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/task").iterdir()]


def _pin(thread: int, cores: Iterable[int]) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.sched_setaffinity(thread, cores)


def _listed(cores: Sequence[int]) -> str:
    """`0`, `0-6`, `0, 2, 4`: as short as it can be said."""
    if len(cores) > 2 and cores[-1] - cores[0] == len(cores) - 1:
        return f"{cores[0]}-{cores[-1]}"
    return ", ".join(map(str, cores))
