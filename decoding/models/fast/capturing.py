"""CUDA graphs: launches that are recorded once and replayed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import torch

T = TypeVar("T")

TIMED_CALLS = 20  # of one timed graph: one call is too short for the clock of an event


class Capturing:
    """CUDA graphs of one owner. They share a memory pool, so replaying one graph may overwrite the outputs of
    another."""

    made: ClassVar[int] = 0  # graphs of all owners in this process: to record one takes longer than many rounds

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # Each owner has its own pool: the draft's and the target's graphs may replay at the same time.
        self._pool = torch.cuda.graph_pool_handle()
        # torch refuses to capture into a pool whose graphs are all gone, so the first graph stays.
        self._first: torch.cuda.CUDAGraph | None = None
        # Each owner has its own capture streams: torch's shared stream is on the device that captured first, and
        # products that replay at once must not share a cuBLAS workspace, of which each stream has one.
        self._streams: dict[int, Any] = {}
        self._stream(0)

    @property
    def priority(self) -> int:
        """Priority of the current stream. A graph replays with the priority of the stream that it was recorded on."""
        return int(torch.cuda.current_stream(self.device).priority)

    def record(self, launch: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
        """Return a graph of these launches, and the outputs that each replay fills. Run the launches `aside` first."""
        Capturing.made += 1
        graph = torch.cuda.CUDAGraph()
        stream = self._stream(self.priority)
        with (
            torch.cuda.device(self.device),
            torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"),
        ):
            outputs = launch()
        self._first = self._first or graph
        return graph, outputs

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Run launches on the capture stream, as CUDA demands before a capture: libraries allocate their buffers for
        that stream then."""
        with torch.cuda.device(self.device):
            stream = self._stream(self.priority)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                yield
            torch.cuda.current_stream().wait_stream(stream)

    def time(self, work: Callable[[], object], calls: int = TIMED_CALLS) -> float:
        """Time one call of `work` within a graph, in ms. Launched alone, a small kernel takes as long as its launch."""

        def repeated() -> None:
            for _ in range(calls):
                work()

        with self.aside():
            work()
        graph, _ = self.record(repeated)
        graph.replay()  # the first replay also uploads the graph
        with torch.cuda.device(self.device):
            return min(_elapsed(graph) for _ in range(3)) / calls

    def _stream(self, priority: int) -> Any:
        if priority not in self._streams:
            new_stream: Any = torch.cuda.Stream
            self._streams[priority] = new_stream(self.device, priority=priority)
        return self._streams[priority]


def _elapsed(graph: torch.cuda.CUDAGraph) -> float:
    new_event: Any = torch.cuda.Event
    start, end = new_event(enable_timing=True), new_event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))
