"""Lanes for texts that are decoded together: one thread drives the target and the draft, and the draft prepares for all
texts while the target verifies them.

A question is a step of each text's drafting, as in `joint`, so the verdicts of a joint verification are answered
together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import fields
from time import perf_counter_ns
from typing import cast

from torch import Tensor

from decoding.crowd import Crowd
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.events import Anticipated
from decoding.models.runner import Feed, ModelRunner, Steps
from decoding.ssd.transport.drafter import anticipated_event
from decoding.ssd.transport.joint_server import Answer, Speculators
from decoding.ssd.transport.messages import Postscript, Recipe, RemoteDraft, no_postscript
from decoding.ssd.transport.question import NO_LOGITS, Questioner
from decoding.ssd.transport.two_lanes import Lanes
from decoding.timing import Clock
from decoding.verify import Verdict


class LaneExchange:
    """The draft's side of all texts of a batch."""

    def __init__(self) -> None:
        self._lanes: Lanes
        self._speculators: Speculators | None = None
        self._numbers = itertools.count()  # of texts
        self._readers: list[LaneReader] = []  # of the texts that were answered last
        self._is_told = True  # whether they have their postscripts

    def enter(self, lanes: Lanes, recipe: Recipe, text: Sequence[int], draft: ModelRunner) -> LaneReader:
        """Let the draft read the prompt of a new text. `draft` is the runner of its place."""
        self._lanes = lanes
        self._speculators = self._speculators or Speculators(lanes.runner)
        reader = LaneReader(self, next(self._numbers))
        with lanes.draft.current():
            self._speculators.read(reader.number, recipe, list(text), lanes.runner_of(draft))
        return reader

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        """Ask for the next drafts of these texts. All others have ended."""
        assert self._speculators
        self._readers = [cast(LaneReader, reader) for reader, _, _ in feeds]
        with self._lanes.draft.current():
            answers = self._speculators.answer([reader.asked for reader in self._readers], perf_counter_ns())
        for reader, answer in zip(self._readers, answers, strict=True):
            reader.answer = answer
        self._is_told = False
        return [NO_LOGITS] * len(feeds)

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        """Prepare for all texts until the target's verdicts are there."""
        assert self._speculators
        self.tell()
        with self._lanes.draft.current():
            while not is_done() and self._speculators.step():
                pass

    def tell(self) -> None:
        """Let the readers know what the trace wants of their drafts. The target verifies by then."""
        assert self._speculators
        if self._is_told:
            return
        self._is_told = True
        with self._lanes.draft.current():
            found = self._speculators.postscripts([reader.asked for reader in self._readers])
        for reader, postscript in zip(self._readers, found, strict=True):
            reader.postscript = postscript

    def hand_over(self, answer: Answer) -> Tensor | None:
        """Return the scores that the verdict needs, on the target's lane."""
        scores = answer.draft.scores
        return self._lanes.hand_over(scores) if answer.sends_scores and scores is not None else None


class LaneReader(Questioner):
    """A text whose draft is answered on a lane."""

    model: LaneExchange

    def __init__(self, exchange: LaneExchange, number: int) -> None:
        super().__init__(number)
        self.model = exchange
        self.answer: Answer
        self.postscript: Postscript = no_postscript()

    def take(self) -> Draft:
        """Return the draft. Raises the error that ended this text's drafting."""
        if self.answer.error:
            raise self.answer.error
        draft = self.answer.draft
        if not draft.tokens:
            return EMPTY
        known = {field.name: getattr(draft, field.name) for field in fields(Draft)}
        return RemoteDraft(**known | {"scores": self.model.hand_over(self.answer)}, postscript=self.told)

    def told(self) -> Postscript:
        self.model.tell()
        return self.postscript


class LaneDrafter(Drafter):
    """Drafts on a lane of its own, which prepares while the target verifies several texts."""

    def __init__(self, lanes: Lanes, recipe: Recipe, draft: ModelRunner, clock: Clock) -> None:
        self._lanes, self._recipe, self._draft, self._clock = lanes, recipe, draft, clock
        self._exchange = LaneExchange()
        self._reader: LaneReader
        self._verdict: Verdict | None = None

    def join(self, crowd: Crowd) -> None:
        self._exchange = crowd.common(LaneExchange)

    def prepare(self, text: Sequence[int]) -> None:
        self._reader = self._exchange.enter(self._lanes, self._recipe, text, self._draft)

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        yield self._reader.ask(self._verdict, limit)
        return self._reader.take()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._exchange.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def anticipated(self, number: int) -> Anticipated | None:
        return anticipated_event(number, self._reader.told().preparation, self._clock)
