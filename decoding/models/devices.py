"""Devices: which exist, their names, free memory and threads."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from decoding.errors import BadDevice
from decoding.models import processor

# cuDNN's attention builds a plan for each new length of a text, which takes up to half a second (decision 48).
torch.backends.cuda.enable_cudnn_sdp(False)


@dataclass(frozen=True)
class Facts:
    """Hardware and number format of a runner, for display and for results."""

    runner: str  # fast | transformers | table
    device: str
    device_name: str
    dtype: str  # of activations
    weights: str  # layout of the matrices: tiled | half | packed | plain (decoding.models.fast.linear)
    threads: int
    context: int
    kernels: Mapping[str, str] = field(default_factory=dict)  # on a GPU: "used", why not, or times, by kernel


def facts_of(
    runner: str,
    device: torch.device,
    dtype: torch.dtype,
    weights: str,
    context: int,
    kernels: Mapping[str, str] | None = None,
) -> Facts:
    return Facts(
        runner,
        str(device),
        name_of(device),
        str(dtype).removeprefix("torch."),
        weights,
        torch.get_num_threads(),
        context,
        kernels or {},
    )


def device_called(name: str) -> torch.device:
    """Return the device called `cpu`, `cuda`, `cuda:1`, or `auto`: a GPU if there is one."""
    gpus = torch.cuda.device_count()
    if name == "auto":
        return torch.device("cuda:0" if gpus else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadDevice(f"There is no device called {name!r}. Devices are cpu, cuda:0, cuda:1 and so on.") from None
    if device.type not in ("cpu", "cuda"):
        raise BadDevice(f"{name} is not supported. Devices are cpu, cuda:0, cuda:1 and so on.")
    if device.type == "cpu" and device.index:
        raise BadDevice(f"{name} was asked for, and all cores together are one device, cpu. Choose cpu.")
    if device.type == "cuda" and (device.index or 0) >= gpus:
        there = f"{gpus} CUDA device{'s' if gpus > 1 else ''}" if gpus else "no CUDA device that torch can use"
        raise BadDevice(f"{name} was asked for, but this machine has {there}. Choose another device.")
    return indexed(device)


def indexed(device: torch.device) -> torch.device:
    """Return `cuda:0` for `cuda`: tensors name their device with its number, and are compared with this one."""
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def name_of(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return processor.name()


def described(device: torch.device) -> str:
    """Describe what one model at work has: the device, or how many cores of the processor."""
    if device.type != "cpu":
        return str(device)
    threads = torch.get_num_threads()
    return f"{threads} core{'s' if threads > 1 else ''}"


def free_bytes(device: torch.device) -> int:
    """Bytes that can be allocated now: those that the system has free, and blocks that torch keeps for its next
    tensors."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + kept
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        sizes = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        free = int(sizes["MemAvailable"].split()[0]) * 1024
    return min(free, left_in_container(free))


def give_back() -> None:
    """Free what nobody holds any more, and return it to the GPUs."""
    gc.collect()
    torch.cuda.empty_cache()  # which does nothing where no GPU is in use


def is_lost(error: BaseException) -> bool:
    """Say if a GPU failed in a way that leaves this process no GPU: every later call fails with the same error."""
    message = str(error)
    is_failure = isinstance(error, torch.AcceleratorError) or (
        isinstance(error, RuntimeError) and "CUDA error" in message
    )
    return is_failure and "out of memory" not in message


CORES_AT_FIRST = torch.get_num_threads()  # torch's own choice, before anyone sets a number


def usual_threads() -> int:
    """Default number of threads: all cores but one. In every product all threads wait for the slowest, so with one core
    taken by other programs, all cores were 60 times slower than all but one (docs/scaling.md)."""
    return max(1, CORES_AT_FIRST - 1)


def set_threads(count: int) -> None:
    """Set how many cores one matrix product may use, in the whole process."""
    cores = os.cpu_count() or 1
    if not 1 <= count <= cores:
        raise BadDevice(f"{count} threads were asked for, but this machine has {cores} cores. Choose 1 to {cores}.")
    torch.set_num_threads(count)


def wait_for(device: torch.device) -> None:
    """Wait until the device has done all launches. Never call it inside a round."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Launched:
    """Marker of what has been launched on a device's current stream so far. On a CPU everything is already done."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._event: Any = None
        self._at = time.perf_counter_ns()
        if device.type == "cuda":
            new_event: Any = torch.cuda.Event
            self._event = new_event(enable_timing=True)
            self._event.record(torch.cuda.current_stream(device))

    @property
    def is_done(self) -> bool:
        """Whether the launches are done. Does not wait."""
        return self._event is None or bool(self._event.query())

    def wait(self) -> None:
        """Wait for these launches alone: other streams of the device go on."""
        if self._event is not None:
            self._event.synchronize()

    def took_since(self, earlier: Launched) -> int:
        """Return the time between the ends of earlier launches and of these, which are done, in ns."""
        if self._event is None:
            return self._at - earlier._at
        return int(1e6 * earlier._event.elapsed_time(self._event))


def on_its_way(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor to where the CPU can read it once earlier launches are done. The copy is in pinned memory: any
    other copy would wait here."""
    if tensor.device.type == "cpu":
        return tensor
    return torch.empty_like(tensor, device="cpu", pin_memory=True).copy_(tensor, non_blocking=True)


def sent_to(device: torch.device, numbers: Sequence[Any], dtype: torch.dtype | None = None) -> torch.Tensor:
    """Make a tensor on a device. The copy is from pinned memory: any other copy would wait for earlier launches."""
    if device.type != "cuda":
        return torch.tensor(numbers, dtype=dtype, device=device)
    return torch.tensor(numbers, dtype=dtype, pin_memory=True).to(device, non_blocking=True)


def left_in_container(otherwise: int, group: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that the limit of this container leaves; `otherwise` if it has none."""
    limit, used = group / "memory.max", group / "memory.current"
    if not limit.exists() or not used.exists() or limit.read_text().strip() == "max":
        return otherwise
    return max(int(limit.read_text()) - int(used.read_text()), 0)
