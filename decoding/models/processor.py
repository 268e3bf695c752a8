"""Name of this machine's processor. Standard library only, so that a worker can tell it without torch."""

from __future__ import annotations

import platform
from pathlib import Path


def name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = (line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line)
        return next(names, platform.machine())
    return platform.processor() or platform.machine()
