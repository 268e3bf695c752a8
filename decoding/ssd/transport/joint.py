"""The target's end for texts that are decoded together: one message takes the verdicts of a joint verification to the
draft's process, and one brings all drafts.

A question is a step of each text's drafting, so the loop joins them as it joins passes of a model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from time import perf_counter
from typing import cast

from torch import Tensor

from decoding.crowd import Crowd
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.errors import DrafthouseError, DraftLost
from decoding.events import Anticipated
from decoding.models.runner import Feed, Steps
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.drafter import anticipated_event
from decoding.ssd.transport.messages import Postscript, Recipe, no_postscript
from decoding.ssd.transport.question import NO_LOGITS, Questioner
from decoding.timing import Clock
from decoding.verify import Verdict

REPLACED = "The draft's process ended between two rounds."
_NUMBERS = itertools.count()  # of texts; a process may serve several exchanges, one after another


class Exchange:
    """The way to the draft's process that all texts of a batch share."""

    def __init__(self) -> None:
        self._process: DraftProcess
        self._pid: int | None = None
        self.losses: list[str] = []  # why each process was lost, with all texts that it served
        self._slowest_s = 0.0  # verification
        self._verifying_since_s: float | None = None
        self._postscripts: Callable[[], Sequence[Postscript]] = tuple

    def enter(self, process: DraftProcess, recipe: Recipe, text: Sequence[int]) -> Line:
        """Let the draft read the prompt of a new text. A process that was lost is started anew."""
        self._postscripts()  # the next message would overwrite them
        self._process = process
        why, number = self._begin(), next(_NUMBERS)
        line = Line(self, number, len(self.losses))
        why = why or self._read(number, recipe, text)
        if why:
            self._lose(why)
        return line

    def verifies(self) -> None:
        """Note that a verification begins."""
        self._verifying_since_s = perf_counter()

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        """Ask for the next drafts of these texts. All others have ended."""
        lines = [cast(Line, reader) for reader, _, _ in feeds]
        self._postscripts()
        if self._verifying_since_s is not None:
            self._slowest_s = max(self._slowest_s, perf_counter() - self._verifying_since_s)
        patience_s = self._process.patience.answering_s(self._slowest_s)
        try:
            reply = self._process.ask(messages.pack_joint([line.asked for line in lines]), patience_s)
        except DraftLost as lost:
            self._lose(lost)
            return [NO_LOGITS] * len(lines)
        self._postscripts = cache(partial(self._wait_for_postscripts, patience_s))
        for place, (line, answer) in enumerate(zip(lines, messages.unpack_answers(reply), strict=True)):
            line.answered(answer, partial(self._postscript, self._postscripts, place))
        return [NO_LOGITS] * len(lines)

    def _begin(self) -> DrafthouseError | None:
        try:
            self._process.begin()
        except DrafthouseError as lost:
            return lost
        if self._pid not in (None, self._process.pid):
            self.losses.append(REPLACED)
        self._pid = self._process.pid
        return None

    def _read(self, number: int, recipe: Recipe, text: Sequence[int]) -> DraftLost | None:
        entry = messages.pack_entry(number, recipe, text)
        try:
            reply = self._process.ask(entry, self._process.patience.reading_s(len(text)))
        except DraftLost as lost:
            return lost
        messages.unpack_draft(reply)
        return None

    def _wait_for_postscripts(self, patience_s: float) -> Sequence[Postscript]:
        try:
            return messages.unpack_postscripts(self._process.postscript(patience_s))
        except DraftLost as lost:
            self._lose(lost)
            return ()

    @staticmethod
    def _postscript(found: Callable[[], Sequence[Postscript]], place: int) -> Postscript:
        every = found()
        return every[place] if every else no_postscript()

    def _lose(self, lost: DrafthouseError) -> None:
        self.losses.append(str(lost))
        self._pid, self._postscripts = None, tuple


class Line(Questioner):
    """A text whose draft comes from the draft's process."""

    model: Exchange

    def __init__(self, exchange: Exchange, number: int, losses: int) -> None:
        super().__init__(number)
        self.model = exchange
        self._losses = losses  # before this text entered
        self._answer = bytearray()
        self.postscript: Callable[[], Postscript] = no_postscript

    @property
    def why_lost(self) -> str:
        """Why this text gets no more drafts; empty while it does."""
        later = self.model.losses[self._losses :]
        return later[0] if later else ""

    def answered(self, answer: bytearray, postscript: Callable[[], Postscript]) -> None:
        self._answer, self.postscript = answer, postscript

    def take(self) -> Draft:
        """Return the draft. Raises the error that ended this text's drafting."""
        return messages.unpack_draft(self._answer, self.postscript)


class JointDrafter(Drafter):
    """Drafts in the draft's process, which prepares while the target verifies several texts."""

    def __init__(self, process: DraftProcess, recipe: Recipe, clock: Clock) -> None:
        self._process, self._recipe, self._clock = process, recipe, clock
        self._exchange = Exchange()
        self._line: Line
        self._verdict: Verdict | None = None
        self._has_reported_loss = False

    def join(self, crowd: Crowd) -> None:
        self._exchange = crowd.common(Exchange)

    def prepare(self, text: Sequence[int]) -> None:
        self._line = self._exchange.enter(self._process, self._recipe, text)

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        if not self._line.why_lost:
            yield self._line.ask(self._verdict, limit)
        return self._alone() if self._line.why_lost else self._line.take()

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        self._exchange.verifies()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._line.postscript()  # fetched by now, it cannot be mistaken for another's

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        return anticipated_event(number, self._line.postscript().preparation, self._clock)

    def _alone(self) -> Draft:
        """An empty draft. The first one says why."""
        self._line.postscript = no_postscript
        if self._has_reported_loss:
            return EMPTY
        self._has_reported_loss = True
        return replace(EMPTY, lost=f"{self._line.why_lost} The target went on alone.")
