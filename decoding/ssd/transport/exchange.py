"""An exchange: verdicts go to the draft's side, and drafts come back, for all texts of a batch. One text is a batch of
one.

A question is a step of each text's drafting, so the loop joins the questions of a batch as it joins passes of a model.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial
from time import perf_counter_ns
from typing import cast

import torch
from torch import Tensor

from decoding.core.sequence import Drafter
from decoding.dice.verify import EMPTY, Draft, Verdict
from decoding.errors import DrafthouseError
from decoding.models.runner import Feed, Feeds, ModelRunner
from decoding.ssd.speculator.speculator import Postscript, Question, Speculator, SpeculatorRecipe
from decoding.ssd.speculator.speculators import Speculators
from decoding.ssd.transport.two_lanes import Lanes
from decoding.trace.events import Anticipated
from decoding.trace.timing import Clock

Answer = Callable[[Callable[[], Postscript]], Draft]  # with its postscript; raises what ended this text's drafting
Fetch = Callable[[], Sequence[Postscript]]  # of all drafts that were answered last
NO_LOGITS = torch.empty(0)  # a question has none: its reader keeps the answer
NUMBERS = itertools.count()  # of texts: a process may serve several exchanges, one after another


class SsdDrafter(Drafter):
    """Carries a text's verdicts to the draft's side, which prepares ahead, and the drafts back. It is the reader of its
    own questions."""

    def __init__(self, exchange: Exchange, recipe: SpeculatorRecipe, draft: ModelRunner, clock: Clock) -> None:
        """`draft` is the runner of the text's place."""
        self.model, self.recipe, self.draft, self.clock = exchange, recipe, draft, clock
        self.number = next(NUMBERS)
        self.asked: Question
        self.answer: Answer
        self.postscript: Callable[[], Postscript] = Postscript
        self.why_lost = ""  # why this text gets no more drafts
        self._verdict: Verdict | None = None
        self._has_reported_loss = False

    def prepare(self, text: Sequence[int]) -> None:
        self.model.enter(self, text)

    def draft_steps(self, text: Sequence[int], limit: int) -> Feeds[Draft]:
        if not self.why_lost:
            verdict = self._verdict
            accepted, token = (verdict.accepted, verdict.token) if verdict else (None, 0)
            self.asked = Question(self.number, accepted, token, limit)
            yield self, (), 0
        return self._alone() if self.why_lost else self.answer(self.postscript)

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 0) -> Tensor:
        self.model.ask([self])
        return NO_LOGITS

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        self.model.before_verification()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self.model.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def leave(self) -> None:
        self.model.leave(self)

    def anticipated(self, number: int) -> Anticipated | None:
        found = self.postscript().preparation
        if not found.passes:
            return None
        at = self.clock.at
        return Anticipated(number, **found._replace(start_ns=at(found.start_ns), end_ns=at(found.end_ns))._asdict())

    def lose(self, why: str) -> None:
        self.why_lost = self.why_lost or why
        self.postscript = Postscript

    def _alone(self) -> Draft:
        """An empty draft. The first one says why."""
        if self._has_reported_loss:
            return EMPTY
        self._has_reported_loss = True
        return replace(EMPTY, lost=f"{self.why_lost} The target went on alone.")


class Exchange(ABC):
    """The way to the draft's side that all texts of a batch share."""

    def __init__(self) -> None:
        self._postscripts: Fetch = tuple  # to the last answers, fetched once

    @abstractmethod
    def enter(self, asking: SsdDrafter, text: Sequence[int]) -> None:
        """Let the draft read the prompt of a new text."""

    @abstractmethod
    def leave(self, asking: SsdDrafter) -> None:
        """Forget a text that has ended."""

    @abstractmethod
    def ask(self, asking: Sequence[SsdDrafter]) -> None:
        """Ask for the next drafts of these texts. All others have ended."""

    def before_verification(self) -> None:  # noqa: B027
        """Learn that the target is about to verify."""

    def meanwhile(self, is_done: Callable[[], bool]) -> None:  # noqa: B027
        """Work in this thread until the target's verdicts are there. They have been launched already."""

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        self.ask([cast(SsdDrafter, reader) for reader, _, _ in feeds])
        return [NO_LOGITS] * len(feeds)

    def _answer(self, asking: Sequence[SsdDrafter], answers: Sequence[Answer], fetch: Fetch) -> None:
        self._postscripts = found = cache(fetch)
        for number, (each, answer) in enumerate(zip(asking, answers, strict=True)):
            each.answer, each.postscript = answer, partial(_one_of, found, number)


def _one_of(postscripts: Fetch, number: int) -> Postscript:
    found = postscripts()
    return found[number] if found else Postscript()


class ExchangeHere(Exchange):
    """The draft works in the target's own process. On a lane, it prepares for all texts while the target verifies them.
    In turn, the target waits for all of it: the same tokens and hits, no overlap."""

    def __init__(self, lanes: Lanes | None = None) -> None:
        super().__init__()
        self._lanes = lanes
        self._on_lane: Callable[[], AbstractContextManager[object]] = lanes.draft.current if lanes else nullcontext
        self._speculators = Speculators(hides=lanes is not None)

    def enter(self, asking: SsdDrafter, text: Sequence[int]) -> None:
        runner = self._lanes.runner_of(asking.draft) if self._lanes else asking.draft
        with self._on_lane():
            self._speculators.read(asking.number, asking.recipe, text, runner)

    def leave(self, asking: SsdDrafter) -> None:
        self._speculators.keep(self._speculators.texts.keys() - {asking.number})
        self._postscripts = tuple  # they would keep the text's caches

    def ask(self, asking: Sequence[SsdDrafter]) -> None:
        with self._on_lane():
            texts = self._speculators.answer([each.asked for each in asking], perf_counter_ns())
        self._answer(asking, [partial(self._drafted, text) for text in texts], partial(self._tell, texts))

    def before_verification(self) -> None:
        if not self._lanes:
            self._prepare(lambda: False)

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        if self._lanes:
            self._postscripts()  # the target verifies by now, so this delays no draft
            self._prepare(is_done)

    def _prepare(self, is_done: Callable[[], bool]) -> None:
        with self._on_lane():
            while not is_done() and self._speculators.step():
                pass

    def _tell(self, texts: Sequence[Speculator]) -> Sequence[Postscript]:
        with self._on_lane():
            return [text.postscript() for text in texts]

    def _drafted(self, text: Speculator, postscript: Callable[[], Postscript]) -> Draft:
        """Return the draft, with the scores that the verdict needs on the target's lane."""
        draft, scores = text.answer
        if isinstance(draft, DrafthouseError):
            raise draft
        if not draft.tokens:
            return EMPTY
        if self._lanes and scores is not None:
            scores = self._lanes.hand_over(scores)
        return replace(draft, scores=scores, postscript=postscript)
