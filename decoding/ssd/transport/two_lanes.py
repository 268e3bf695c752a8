"""Target and draft at work at once under one thread: each launches on a queue of its own, on two GPUs or on one.

A processor does at once what it is given, so there a lane is nothing; that is how tests walk this path.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from decoding.devices import wait_for
from decoding.drafting import EMPTY, Draft
from decoding.errors import BadDevice, BadStrategy
from decoding.runner import ModelRunner
from decoding.ssd.speculator.speculator import Prepared, Speculator

PLACEMENTS = ("two-gpus", "two-streams")


class Lane:
    """Where one model's launches go."""

    def __init__(self, device: torch.device, is_urgent: bool = False) -> None:
        """Where both share a device, what is urgent goes first."""
        self.device = device
        self.stream: Any = None
        if device.type == "cuda":
            new_stream: Any = torch.cuda.Stream
            self.stream = new_stream(device, priority=-1 if is_urgent else 0)

    def current(self) -> AbstractContextManager[object]:
        """What is launched within goes here; and so do reads, which wait for this lane alone."""
        if self.stream is None:
            return nullcontext()
        lane: AbstractContextManager[object] = torch.cuda.stream(self.stream)
        return lane


@dataclass(frozen=True)
class Lanes:
    target: Lane
    draft: Lane
    runner: ModelRunner  # the draft's, on its lane's device

    def __str__(self) -> str:
        if self.target.device == self.draft.device:
            return f"{self.target.device}, shared by target and draft on two streams"
        return f"{self.target.device} for the target, {self.draft.device} for the draft"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """One sample. What other strategies launched is done before, and this before what others launch."""
        self._settle()
        try:
            with self.target.current():
                yield
        finally:
            self._settle()

    def hand_over(self, rows: Tensor) -> Tensor:
        """Rows made on the draft's lane, for the target's to read: it waits for them, and their memory for it."""
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
    """Two streams share what two devices have twice: a table with both would rank hardware, not strategies."""
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
    """`draft_on` loads the draft anew on another device. Says so in words where this machine has no such place."""
    return _two_gpus(target, draft_on) if placement == "two-gpus" else _two_streams(target, draft)


def _two_gpus(target: ModelRunner, draft_on: Callable[[torch.device], ModelRunner]) -> Lanes:
    there = torch.cuda.device_count()
    if there < 2:
        raise BadDevice(
            f"placement=two-gpus needs two CUDA devices; this machine has {there}. Use placement=beside, which has the "
            "draft on a processor core, or placement=in-turn."
        )
    if target.device.type != "cuda":
        raise BadDevice("placement=two-gpus needs the target on a CUDA device, and it is on the processor.")
    other = next(n for n in range(there) if n != target.device.index)
    device = torch.device("cuda", other)
    return Lanes(Lane(target.device, is_urgent=True), Lane(device), draft_on(device))


def _two_streams(target: ModelRunner, draft: ModelRunner) -> Lanes:
    if target.device.type != "cuda":
        raise BadDevice(
            f"placement=two-streams needs target and draft on one CUDA device, and the target is on {target.device}; "
            f"this machine has {torch.cuda.device_count()}. Use placement=beside or placement=in-turn."
        )
    return Lanes(Lane(target.device, is_urgent=True), Lane(target.device), draft)


class Alongside:
    def __init__(self, speculator: Speculator, lanes: Lanes, sends_scores: bool) -> None:
        """`sends_scores` says whether a verdict needs what the draft drew from."""
        self._speculator = speculator
        self._lanes = lanes
        self._sends_scores = sends_scores
        self._prepared = Prepared()
        self._draft = EMPTY

    def read(self, text: Sequence[int]) -> None:
        with self._lanes.draft.current():
            self._speculator.read(text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        with self._lanes.draft.current():
            return self._given(self._speculator.begin(text, limit))

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        self._prepared = self._speculator.prepared()
        with self._lanes.draft.current():
            return self._given(self._speculator.answer(accepted, token, limit))

    def anticipate(self) -> None:
        pass  # nothing is to be started before the target's own launches

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        with self._lanes.draft.current():
            if not self._sends_scores:
                self._draft.confidence  # noqa: B018  the trace asks for it later, on the other lane
            while not is_done() and self._speculator.step_beside():
                pass

    def prepared(self) -> Prepared:
        return self._prepared

    def _given(self, draft: Draft) -> Draft:
        if draft is EMPTY:
            return draft
        draft = dataclasses.replace(draft, estimates=self._speculator.estimate())
        if self._sends_scores:
            draft = dataclasses.replace(draft, scores=self._lanes.hand_over(draft.scores))
        self._draft = draft
        return draft
