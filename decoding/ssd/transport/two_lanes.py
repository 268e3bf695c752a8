"""Target and draft at work at once on one GPU, under one thread: each launches on a queue of its own.

The GPU verifies, and the thread is free until that is done: it takes one step of preparing after another. A processor
does at once what it is given, so there a lane is nothing; that is how tests walk this path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

from decoding.errors import BadDevice, BadStrategy
from decoding.models.devices import wait_for

PLACEMENT = "two-streams"


class Lane:
    """The queue of one model's launches."""

    def __init__(self, device: torch.device, is_urgent: bool = False) -> None:
        """The urgent lane of a device goes first."""
        self.stream: Any = None
        if device.type == "cuda":
            new_stream: Any = torch.cuda.Stream
            self.stream = new_stream(device, priority=-1 if is_urgent else 0)

    def current(self) -> AbstractContextManager[object]:
        """Launches within go to this lane; reads within wait for this lane alone."""
        if self.stream is None:
            return nullcontext()
        lane: AbstractContextManager[object] = torch.cuda.stream(self.stream)
        return lane


class Lanes:
    """Lanes of target and draft on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.target, self.draft = Lane(device, is_urgent=True), Lane(device)

    def __str__(self) -> str:
        return f"{self.device}, shared by target and draft on two streams"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """Run one sample on the target's lane. The device finishes its other work before it and after it."""
        wait_for(self.device)
        try:
            with self.target.current():
                yield
        finally:
            wait_for(self.device)

    def hand_over(self, rows: Tensor) -> None:
        """Let the target's lane wait for rows made on the draft's. Their memory waits for it."""
        if self.target.stream is not None:
            self.target.stream.wait_stream(self.draft.stream)
            rows.record_stream(self.target.stream)


def check_ranked_together(placements: Iterable[object]) -> None:
    """Refuse to rank two streams, which share one device, against two devices: that would rank hardware."""
    if {"beside", PLACEMENT} <= set(placements):
        raise BadStrategy(
            f"placement={PLACEMENT} shares one device and is not ranked against placement=beside, which has two. "
            "Compare each with static in a comparison of its own."
        )


def open_lanes(device: torch.device) -> Lanes:
    if device.type != "cuda":
        raise BadDevice(
            f"placement={PLACEMENT} needs target and draft on one CUDA device, and the target is on {device}; "
            f"this machine has {torch.cuda.device_count()}. Use placement=beside or placement=in-turn."
        )
    return Lanes(device)
