"""Target and draft at work at once under one thread: each launches on a queue of its own, on two GPUs or on one.

The target's device verifies, and the thread is free until that is done: it takes one step of preparing after another. A
processor does at once what it is given, so there a lane is nothing; that is how tests walk this path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from decoding.errors import BadDevice, BadStrategy
from decoding.models.devices import wait_for
from decoding.models.runner import ModelRunner

PLACEMENTS = ("two-gpus", "two-streams")


class Lane:
    """The queue of one model's launches."""

    def __init__(self, device: torch.device, is_urgent: bool = False) -> None:
        """On a shared device the urgent lane goes first."""
        self.device = device
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


@dataclass(frozen=True)
class Lanes:
    target: Lane
    draft: Lane
    runner: ModelRunner  # the draft's, on its lane's device
    others: WeakKeyDictionary[ModelRunner, ModelRunner] = field(default_factory=WeakKeyDictionary)  # by place's own

    def __str__(self) -> str:
        if self.target.device == self.draft.device:
            return f"{self.target.device}, shared by target and draft on two streams"
        return f"{self.target.device} for the target, {self.draft.device} for the draft"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """Run one sample on the target's lane. Both devices finish their other work before it and after it."""
        self._settle()
        try:
            with self.target.current():
                yield
        finally:
            self._settle()

    def runner_of(self, draft: ModelRunner) -> ModelRunner:
        """Return the runner on the draft's lane for a place whose draft is this one: the same, on a shared device."""
        if draft.device == self.draft.device:
            return draft
        if draft not in self.others:
            [new] = self.runner.model.new_runners(1, draft.context) if self.others else [self.runner]
            self.others[draft] = new
        return self.others[draft]

    def hand_over(self, rows: Tensor) -> Tensor:
        """Give rows made on the draft's lane to the target's, which waits for them. Their memory waits for it."""
        if self.target.stream is None:
            return rows.to(self.target.device)
        self.target.stream.wait_stream(self.draft.stream)
        with self.draft.current(), self.target.current():  # a copy between devices is on both of their lanes
            moved = rows.to(self.target.device, non_blocking=True)
        if moved is rows:
            rows.record_stream(self.target.stream)
        return moved

    def _settle(self) -> None:
        wait_for(self.target.device)
        wait_for(self.draft.device)


def check_ranked_together(placements: Iterable[object]) -> None:
    """Refuse to rank two streams, which share one device, against two devices: that would rank hardware."""
    asked = set(placements)
    other = next((each for each in ("beside", "two-gpus") if each in asked), None)
    if other and "two-streams" in asked:
        raise BadStrategy(
            f"placement=two-streams shares one device and is not ranked against placement={other}, which has two. "
            "Compare each with static in a comparison of its own."
        )


def open_lanes(
    placement: str, target: ModelRunner, draft: ModelRunner, draft_on: Callable[[torch.device], ModelRunner]
) -> Lanes:
    """`draft_on` loads the draft once more on another device. Raises BadDevice if this machine lacks the devices."""
    return _two_gpus(target, draft_on) if placement == "two-gpus" else _two_streams(target, draft)


def _two_gpus(target: ModelRunner, draft_on: Callable[[torch.device], ModelRunner]) -> Lanes:
    count = torch.cuda.device_count()
    if count < 2:
        raise BadDevice(
            f"placement=two-gpus needs two CUDA devices; this process sees {count}. A worker sees one, unless "
            "`./drafthouse up` was started with --gpus-per-worker 2. Use placement=beside, which has the draft on a "
            "processor core, or placement=in-turn."
        )
    if target.device.type != "cuda":
        raise BadDevice("placement=two-gpus needs the target on a CUDA device, and it is on the processor.")
    other = next(n for n in range(count) if n != target.device.index)
    device = torch.device("cuda", other)
    return Lanes(Lane(target.device, is_urgent=True), Lane(device), draft_on(device))


def _two_streams(target: ModelRunner, draft: ModelRunner) -> Lanes:
    if target.device.type != "cuda":
        raise BadDevice(
            f"placement=two-streams needs target and draft on one CUDA device, and the target is on {target.device}; "
            f"this machine has {torch.cuda.device_count()}. Use placement=beside or placement=in-turn."
        )
    return Lanes(Lane(target.device, is_urgent=True), Lane(target.device), draft)
