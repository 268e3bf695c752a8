"""Card: the device that `bench card` measures, and the rows that a step writes."""

from __future__ import annotations

import json
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks._pair_shapes import PAIRS, PairShape
from decoding.models.devices import name_of, wait_for
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.shape import expected_tensors, shape_of
from decoding.models.fast.weights import weights_of

# GB/s by what a device's name begins with behind "NVIDIA ", the longer name first
DATASHEETS = {
    "H200": 4800, "H100 PCIe": 2000, "H100 NVL": 3900, "H100": 3350,
    "A100-SXM4-80GB": 2039, "A100-SXM4-40GB": 1555, "L4": 300,
}  # fmt: skip


@dataclass
class Card:
    """`is_tiny` is the dry run: on the CPU, with tiny models."""

    rows: Path
    pair: str
    is_tiny: bool
    has_failed: bool = False

    def __post_init__(self) -> None:
        self.device = torch.device("cpu" if self.is_tiny else "cuda:0")
        self.shape: PairShape = PAIRS["tiny" if self.is_tiny else self.pair]

    def say(self, **row: Any) -> None:
        line = json.dumps(row)
        print(line, flush=True)
        with self.rows.open("a") as file:
            file.write(line + "\n")

    def fails(self, error: Exception, **row: Any) -> None:
        """Write an error as a row; what comes next still runs."""
        self.has_failed = True
        self.say(section="failed", **row, error=repr(error)[:400], trace=traceback.format_exc()[-2000:])

    @cached_property
    def copied_gbps(self) -> float:
        """GB/s that a copy reads and writes."""
        source = torch.ones(2**20 if self.is_tiny else 2**31, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        return 2 * len(source) / self.in_graph(lambda: target.copy_(source), 5) / 1e3

    @cached_property
    def read_gbps(self) -> float:
        """GB/s that a reduction reads."""
        source = torch.ones(2**17 if self.is_tiny else 2**28, dtype=torch.int64, device=self.device)
        return 8 * len(source) / self.in_graph(source.amax, 5) / 1e3

    def bandwidth(self, size: int, seconds: float) -> dict[str, float | None]:
        """Say how fast bytes were read, beside what a copy and a reduction reach, and what the datasheet names."""
        gbps, sheet = size / seconds / 1e9, datasheet_gbps(self.device)
        reached = {"of_copy": gbps / self.copied_gbps, "of_read": gbps / self.read_gbps}
        return {"GBps": gbps, **reached, "of_datasheet": gbps / sheet if sheet else None}

    def wait(self) -> None:
        wait_for(self.device)

    def random(self, *size: int) -> Tensor:
        return torch.randn(*size, device=self.device, dtype=torch.bfloat16).mul_(0.02)

    def seconds(self, work: Callable[[], object]) -> float:
        """Time one call with the host's clock, waits at both ends."""
        self.wait()
        start = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - start

    def in_graph(self, work: Callable[[], object], calls: int = 20) -> float:
        """Microseconds of one call within a graph of so many; on a CPU, called as it is."""
        if self.device.type == "cpu":
            work()
            return 1e6 * min(self.seconds(work) for _ in range(3))

        def repeated() -> None:
            for _ in range(calls):
                work()

        capturing = Capturing(self.device)
        with capturing.aside():
            for _ in range(3):
                work()
        graph, _ = capturing.record(repeated)
        graph.replay()
        return 1e3 * statistics.median(_replayed(graph) for _ in range(10)) / calls

    def runner(self, context: int, **sizes: int) -> tuple[FastRunner, int]:
        """Make a static runner of the pair's target with random weights. Return it and the bytes that a pass reads."""
        shape = shape_of(self.shape.config | sizes)
        assert shape is not None
        tensors = {name: self.random(*size) for name, size in expected_tensors(shape).items()}
        for tensor in tensors.values():
            if tensor.dim() == 1:
                tensor.fill_(1.0)  # norms
        size = 2 * sum(tensor.numel() for name, tensor in tensors.items() if "embed" not in name)
        weights = weights_of(shape, tensors)
        model = FastModel(shape, weights, dtype="bfloat16", context=context, device=self.device, static=True)
        return model.new_runner(), size


def datasheet_gbps(device: torch.device) -> int | None:
    """GB/s that the datasheet names, of the devices that we know."""
    name = name_of(device).removeprefix("NVIDIA ")
    return next((speed for known, speed in DATASHEETS.items() if name.startswith(known)), None)


def _replayed(graph: torch.cuda.CUDAGraph) -> float:
    """Milliseconds of one replay."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
