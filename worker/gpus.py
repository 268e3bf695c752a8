"""Readings of the NVIDIA driver for the devices that this worker may use. Needs the package `nvidia-ml-py`; without it,
or without a driver, there are none to read."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from decoding.models import processor

# Bits of the driver's mask. Others (idle, clocks set by its owner) hold no program back.
HELD_BACK = {0x4: "power cap", 0x8: "hardware slowdown", 0x20: "heat", 0x40: "heat, in hardware", 0x80: "power brake"}


@dataclass(frozen=True, slots=True)
class Gpu:
    name: str
    utilisation: float | None
    memory_used: int | None
    memory_total: int | None
    clock_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    held_back: list[str]
    others: int  # programs on it that are not ours


class Driver:
    def __init__(self, nvml: Any, visible: str | None) -> None:
        """`visible` as in CUDA_VISIBLE_DEVICES: nothing said means all of them."""
        self._nvml = nvml
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
        names = [str(index) for index in range(count)] if visible is None else visible.split(",")
        self._devices = [self._device(name.strip()) for name in names if name.strip()]

    def read(self, ours: Collection[int]) -> list[Gpu]:
        """`ours`: ids of the processes that Drafthouse started. All other programs count as foreign load."""
        return [self._read(device, ours) for device in self._devices]

    def _device(self, name: str) -> Any:
        if name.isdigit():
            return self._nvml.nvmlDeviceGetHandleByIndex(int(name))
        return self._nvml.nvmlDeviceGetHandleByUUID(name)

    def _read(self, device: Any, ours: Collection[int]) -> Gpu:
        nvml = self._nvml

        def query(ask: Callable[..., Any], *arguments: Any) -> Any:
            """Return None where the device does not know."""
            with suppress(nvml.NVMLError):
                return ask(device, *arguments)
            return None

        name = query(nvml.nvmlDeviceGetName) or "GPU"
        rates, memory = query(nvml.nvmlDeviceGetUtilizationRates), query(nvml.nvmlDeviceGetMemoryInfo)
        power, mask = query(nvml.nvmlDeviceGetPowerUsage), query(nvml.nvmlDeviceGetCurrentClocksThrottleReasons) or 0
        there = {process.pid for process in query(nvml.nvmlDeviceGetComputeRunningProcesses) or ()}
        return Gpu(
            name=name.decode() if isinstance(name, bytes) else name,
            utilisation=None if rates is None else rates.gpu / 100,
            memory_used=None if memory is None else memory.used,
            memory_total=None if memory is None else memory.total,
            clock_mhz=query(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            power_w=None if power is None else power / 1000,
            temperature_c=query(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            held_back=[reason for bit, reason in HELD_BACK.items() if mask & bit],
            # In a container the driver may count processes differently; then nobody can say which are ours.
            others=len(there - set(ours)) if there & set(ours) else 0,
        )


@functools.cache
def driver() -> Driver | str:
    """Find the driver, or say why there is none to ask."""
    try:
        import pynvml  # type: ignore[import-not-found]  # where nobody needs it, it is not installed
    except ImportError:
        return "for readings install nvidia-ml-py"
    try:
        return Driver(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES"))
    except pynvml.NVMLError as error:
        return f"no readings: the NVIDIA driver does not answer, {error}"


def listed() -> list[str]:
    """CUDA's names of this machine's devices, from the driver's own tool, because torch takes seconds. With
    CUDA_VISIBLE_DEVICES an operator leaves some of them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    listed = subprocess.run([tool, "--query-gpu=index,uuid", "--format=csv,noheader"], capture_output=True, text=True)
    there = dict(line.split(", ", 1) for line in listed.stdout.splitlines()) if listed.returncode == 0 else {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return list(there) if visible is None else _named(visible.split(","), there)


def _named(names: Sequence[str], there: Mapping[str, str]) -> list[str]:
    """Read names as CUDA does: numbers and beginnings of UUIDs, up to the first that is not there. The driver's tool
    does not list MIG slices."""
    found = []
    for name in map(str.strip, names):
        known = [number for number, uuid in there.items() if name == number or (name and uuid.startswith(name))]
        if not (known or name.startswith("MIG-")):
            break
        found.append(known[0] if known else name)
    return found


def read(ours: Collection[int]) -> list[Gpu]:
    found = driver()
    return found.read(ours) if isinstance(found, Driver) else []


def describe(device: str) -> str:
    """Describe a device: its name and a GPU's memory, or why nobody can say."""
    if device == "cpu":
        return f"{device}, {processor.name()}"
    found = driver()
    if isinstance(found, str):
        return f"{device} ({found})"
    return ", ".join([device, *(f"{gpu.name}, {(gpu.memory_total or 0) / 2**30:.0f} GiB" for gpu in found.read(()))])
