"""The loop's drafter under SSD. It carries verdicts to the speculator and drafts back, through a transport."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.events import Anticipated
from decoding.ssd.speculator.speculator import Preparation, Speculator
from decoding.timing import Clock
from decoding.verify import Verdict


class Transport(Protocol):
    """The target side's way to a `Speculator`."""

    def read(self, text: Sequence[int]) -> None: ...

    def begin(self, text: Sequence[int], limit: int) -> Draft: ...

    def answer(self, accepted: int, token: int, limit: int) -> Draft: ...

    def prepare(self) -> None:
        """The target is about to verify: start preparing, if it is not under way yet."""
        ...

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        """The target's device verifies, and this thread is free until that is done."""
        ...

    def preparation(self) -> Preparation:
        """The preparation before the last answer."""
        ...


class InTurnTransport:
    """Prepares in the target's own process, before it verifies: the same tokens and hits as beside it, no overlap."""

    def __init__(self, speculator: Speculator) -> None:
        self._speculator = speculator
        self._preparation = Preparation()

    def read(self, text: Sequence[int]) -> None:
        self._speculator.read(text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        return self._speculator.begin(text, limit)

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        self._preparation = self._speculator.preparation()
        draft = self._speculator.answer(accepted, token, limit)
        return dataclasses.replace(draft, estimates=self._speculator.estimate()) if draft is not EMPTY else draft

    def prepare(self) -> None:
        while self._speculator.step():
            pass

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        pass

    def preparation(self) -> Preparation:
        return self._preparation


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
            self._transport.prepare()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._transport.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        found = self._transport.preparation()
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
