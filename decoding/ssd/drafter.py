"""The loop's drafter under SSD: a verdict goes to the draft's side, an answer comes back, and what is prepared beside
the verification is told afterwards. Where the draft's side lives is the transport's business."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.events import Anticipated
from decoding.ssd.prepared import Prepared
from decoding.ssd.speculating import Speculator
from decoding.timing import Clock
from decoding.verify import Verdict


class Transport(Protocol):
    """How the target's side reaches a `Speculator`."""

    def read(self, text: Sequence[int]) -> None: ...

    def begin(self, text: Sequence[int], limit: int) -> Draft: ...

    def answer(self, accepted: int, token: int, limit: int) -> Draft: ...

    def anticipate(self) -> None:
        """The target is about to verify: whatever is not under way yet starts now."""
        ...

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        """The target's device verifies, and this thread has nothing to do until that is done."""
        ...

    def prepared(self) -> Prepared:
        """What had been prepared when the last answer was asked for."""
        ...


class InTurn:
    """In the target's own process, before it verifies: the same tokens and hits as beside it, and no overlap."""

    def __init__(self, speculator: Speculator) -> None:
        self._speculator = speculator
        self._prepared = Prepared()

    def read(self, text: Sequence[int]) -> None:
        self._speculator.read(text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        return self._speculator.begin(text, limit)

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        self._prepared = self._speculator.prepared()
        draft = self._speculator.answer(accepted, token, limit)
        return dataclasses.replace(draft, estimates=self._speculator.estimate()) if draft is not EMPTY else draft

    def anticipate(self) -> None:
        while self._speculator.step():
            pass

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass

    def prepared(self) -> Prepared:
        return self._prepared


class SsdDrafter(Drafter):
    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._verdict: Verdict | None = None

    def prepare(self, text: Sequence[int]) -> None:
        self._transport.read(text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        if self._verdict is None:
            return self._transport.begin(text, limit)
        return self._transport.answer(self._verdict.accepted, self._verdict.token, limit)

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        if draft is not EMPTY:
            self._transport.anticipate()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._transport.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        found = self._transport.prepared()
        if not found.passes:
            return None
        return Anticipated(
            round=number,
            branches=found.branches,
            predicted_hit=found.predicted_hit,
            start_ns=self._clock.at(found.start_ns),
            end_ns=self._clock.at(found.end_ns),
            fanout=found.fanout,
            passes=found.passes,
            busy_ns=found.busy_ns,
            idle_ns=found.idle_ns,
            opening_ns=found.opening_ns,
        )
