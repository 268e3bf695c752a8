"""The loop's drafters under SSD. They carry verdicts to the speculator and drafts back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.crowd import Crowd
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.events import Anticipated
from decoding.models.runner import Steps
from decoding.ssd.policy.together import BranchRows
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


class InTurnDrafter(Drafter):
    """Prepares in the target's own process, before it verifies: the same tokens and hits as beside it, no overlap. The
    texts of a batch share the draft's passes and their rows."""

    shares_preparation = True

    def __init__(self, speculator: Speculator, clock: Clock) -> None:
        self._speculator = speculator
        self._clock = clock
        self._rows = BranchRows()
        self._preparation = Preparation()
        self._verdict: Verdict | None = None

    def join(self, crowd: Crowd) -> None:
        self._rows = crowd.common(BranchRows)
        self._speculator.join(crowd)

    def prepare(self, text: Sequence[int]) -> None:
        self._speculator.read(text)

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        if self._verdict is None:
            return (yield from self._speculator.beginning(text, limit))
        self._preparation = self._speculator.preparation()
        draft = yield from self._speculator.answering(self._verdict.accepted, self._verdict.token, limit)
        return dataclasses.replace(draft, estimates=self._speculator.estimate()) if draft is not EMPTY else draft

    def opening(self) -> Steps[None]:
        self._rows.ask(self, (yield from self._speculator.opening()))

    def branching(self) -> Steps[None]:
        granted = self._rows.granted(self, self._speculator.budget)
        return self._speculator.branching(granted, self._rows.count)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        found = self._preparation  # the target waits for all of it, also between passes that texts share
        return anticipated_event(number, found._replace(busy_ns=found.end_ns - found.start_ns), self._clock)


class SsdDrafter(Drafter):
    """Prepares while the target verifies, through a transport."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._verdict: Verdict | None = None

    def prepare(self, text: Sequence[int]) -> None:
        self._transport.read(text)

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        if self._verdict is None:
            return self._transport.begin(text, limit)
        return self._transport.answer(self._verdict.accepted, self._verdict.token, limit)
        yield  # type: ignore[unreachable]  # makes this a generator: the draft's process runs its passes by itself

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        if draft is not EMPTY:
            self._transport.prepare()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._transport.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        return anticipated_event(number, self._transport.preparation(), self._clock)


def anticipated_event(number: int, found: Preparation, clock: Clock) -> Anticipated | None:
    if not found.passes:
        return None
    return Anticipated(
        round=number,
        branches=found.branches,
        predicted_hit=found.predicted_hit,
        start_ns=clock.at(found.start_ns),
        end_ns=clock.at(found.end_ns),
        fanout=found.fanout,
        pass_rows=found.rows,
        passes=found.passes,
        busy_ns=found.busy_ns,
        idle_ns=found.idle_ns,
        opening_ns=found.opening_ns,
    )
