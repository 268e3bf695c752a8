"""CUDA graphs: launches that are recorded once and replayed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

T = TypeVar("T")


class Capturing:
    """CUDA graphs of one owner. They share a memory pool, so replaying one graph may overwrite the outputs of
    another."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        # Each owner has its own pool: the draft's and the target's graphs may replay at the same time.
        self._pool = torch.cuda.graph_pool_handle()
        # Each owner has its own capture stream: torch's shared stream is on the device that captured first.
        new_stream: Any = torch.cuda.Stream
        self._stream = new_stream(device)

    def record(self, launch: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
        """Return a graph of these launches, and the outputs that each replay fills. Run the launches `aside` first."""
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"),
        ):
            return graph, launch()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run launches on another stream, as CUDA demands before a capture: libraries allocate their buffers then."""
        new_stream: Any = torch.cuda.Stream
        with torch.cuda.device(self._device):
            stream = new_stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                yield
            torch.cuda.current_stream().wait_stream(stream)
