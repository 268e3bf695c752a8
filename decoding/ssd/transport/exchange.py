"""An exchange: verdicts go to the draft's side, and drafts come back, for all texts of a batch. One text is a batch of
one.

A question is a step of each text's drafting, so the loop joins the questions of a batch as it joins passes of a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import cast

import torch
from torch import Tensor

from decoding.core.drafter import EMPTY, Draft, Drafter
from decoding.dice.verify import Verdict
from decoding.models.runner import Feed, ModelRunner, Steps
from decoding.ssd.transport.messages import Answer, Postscript, Question, SpeculatorRecipe, no_postscript
from decoding.trace.events import Anticipated
from decoding.trace.timing import Clock

Fetch = Callable[[], Sequence[Postscript]]  # of all drafts that were answered last
NO_LOGITS = torch.empty(0)  # a question has none: its reader keeps the answer


class Exchange(ABC):
    """The way to the draft's side that all texts of a batch share."""

    def __init__(self) -> None:
        self._postscripts: Fetch = tuple  # to the last answers, fetched once

    @abstractmethod
    def enter(self, recipe: SpeculatorRecipe, text: Sequence[int], draft: ModelRunner, clock: Clock) -> Questioner:
        """Let the draft read the prompt of a new text. `draft` is the runner of its place."""

    @abstractmethod
    def leave(self, questioner: Questioner) -> None:
        """Forget a text that has ended."""

    @abstractmethod
    def ask(self, questioners: Sequence[Questioner]) -> None:
        """Ask for the next drafts of these texts. All others have ended."""

    def verifies(self) -> None:  # noqa: B027
        """Learn that the target is about to verify."""

    def meanwhile(self, is_done: Callable[[], bool]) -> None:  # noqa: B027
        """Work in this thread until the target's verdicts are there. They have been launched already."""

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        self.ask([cast(Questioner, reader) for reader, _, _ in feeds])
        return [NO_LOGITS] * len(feeds)

    def _answer(self, questioners: Sequence[Questioner], answers: Sequence[Answer], fetch: Fetch) -> None:
        self._postscripts = found = cache(fetch)
        for number, (questioner, answer) in enumerate(zip(questioners, answers, strict=True)):
            questioner.answer, questioner.postscript = answer, partial(_one_of, found, number)


def _one_of(postscripts: Fetch, number: int) -> Postscript:
    found = postscripts()
    return found[number] if found else no_postscript()


class Questioner:
    """One text's share of an exchange, and the reader of its steps."""

    def __init__(self, exchange: Exchange, number: int, recipe: SpeculatorRecipe) -> None:
        self.model = exchange
        self.number = number
        self.recipe = recipe
        self.asked: Question
        self.answer: Answer
        self.why_lost = ""  # why this text gets no more drafts
        self.postscript: Callable[[], Postscript] = no_postscript

    def ask(self, verdict: Verdict | None, limit: int) -> Feed:
        accepted, token = (verdict.accepted, verdict.token) if verdict else (None, 0)
        self.asked = Question(self.number, accepted, token, limit)
        return self, (), 0

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 0) -> Tensor:
        self.model.ask([self])
        return NO_LOGITS

    def take(self) -> Draft:
        return self.answer(self.postscript)

    def lose(self, why: str) -> None:
        self.why_lost = self.why_lost or why
        self.postscript = no_postscript


class SsdDrafter(Drafter):
    """Carries a text's verdicts to the draft's side, which prepares ahead, and the drafts back."""

    def __init__(self, exchange: Exchange, recipe: SpeculatorRecipe, draft: ModelRunner, clock: Clock) -> None:
        self._exchange, self._recipe, self._draft, self._clock = exchange, recipe, draft, clock
        self._questioner: Questioner
        self._verdict: Verdict | None = None
        self._has_reported_loss = False

    def prepare(self, text: Sequence[int]) -> None:
        self._questioner = self._exchange.enter(self._recipe, text, self._draft, self._clock)

    def draft_steps(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        questioner = self._questioner
        if not questioner.why_lost:
            yield questioner.ask(self._verdict, limit)
        return self._alone() if questioner.why_lost else questioner.take()

    def anticipate(self, text: Sequence[int], draft: Draft) -> None:
        self._exchange.verifies()

    def meanwhile(self, is_done: Callable[[], bool]) -> None:
        self._exchange.meanwhile(is_done)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._verdict = verdict

    def leave(self) -> None:
        self._exchange.leave(self._questioner)

    def anticipated(self, number: int) -> Anticipated | None:
        found = self._questioner.postscript().preparation
        if not found.passes:
            return None
        return Anticipated(
            round=number,
            branches=found.branches,
            predicted_hit=found.predicted_hit,
            start_ns=self._clock.at(found.start_ns),
            end_ns=self._clock.at(found.end_ns),
            fanout=found.fanout,
            pass_rows=found.rows,
            passes=found.passes,
            busy_ns=found.busy_ns,
            idle_ns=found.idle_ns,
            opening_ns=found.opening_ns,
        )

    def _alone(self) -> Draft:
        """An empty draft. The first one says why."""
        if self._has_reported_loss:
            return EMPTY
        self._has_reported_loss = True
        return replace(EMPTY, lost=f"{self._questioner.why_lost} The target went on alone.")
