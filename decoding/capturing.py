"""CUDA graphs: launches that are recorded once and replayed as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

T = TypeVar("T")


class Capturing:
    """Where one owner's graphs are recorded. Replaying one of them may overwrite what another has put out."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        # A pool of its own: a draft's and a target's graphs may replay at the same time.
        self._pool = torch.cuda.graph_pool_handle()
        # And a stream of its own to capture on: torch's is on the device that captured first.
        new_stream: Any = torch.cuda.Stream
        self._stream = new_stream(device)

    def record(self, launch: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
        """A graph of these launches, and what they will have put out whenever it has been replayed. Run them `aside`
        first."""
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self._device),
            torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"),
        ):
            return graph, launch()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """On another stream, as whatever runs before a capture has to: by then every library has made its buffers."""
        new_stream: Any = torch.cuda.Stream
        with torch.cuda.device(self._device):
            stream = new_stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                yield
            torch.cuda.current_stream().wait_stream(stream)
