"""The exchange with a draft in the target's own process: in turn, or on a lane of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import partial
from time import perf_counter_ns

from decoding.core.drafter import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.models.runner import ModelRunner
from decoding.ssd.transport.exchange import Exchange, Questioner
from decoding.ssd.transport.messages import Postscript, RemoteDraft, SpeculatorRecipe
from decoding.ssd.transport.speculators import Speculated, Speculators
from decoding.ssd.transport.two_lanes import Lanes
from decoding.trace.timing import Clock


class ExchangeHere(Exchange):
    """On a lane, the draft prepares for all texts while the target verifies them. In turn, the target waits for all of
    it: the same tokens and hits, no overlap."""

    def __init__(self, lanes: Lanes | None = None) -> None:
        super().__init__()
        self._lanes = lanes
        self._on_lane: Callable[[], AbstractContextManager[object]] = lanes.draft.current if lanes else nullcontext
        self._speculators = Speculators(hides=lanes is not None)
        self._numbers = itertools.count()  # of texts

    def enter(self, recipe: SpeculatorRecipe, text: Sequence[int], draft: ModelRunner, clock: Clock) -> Questioner:
        made = Questioner(self, next(self._numbers), recipe)
        runner = self._lanes.runner_of(draft) if self._lanes else draft
        with self._on_lane():
            self._speculators.read(made.number, recipe, list(text), runner)
        return made

    def leave(self, questioner: Questioner) -> None:
        self._speculators.keep(self._speculators.texts.keys() - {questioner.number})
        self._postscripts = tuple  # they would keep the text's caches

    def ask(self, questioners: Sequence[Questioner]) -> None:
        asked = [questioner.asked for questioner in questioners]
        with self._on_lane():
            texts = self._speculators.answer(asked, perf_counter_ns())
        self._answer(questioners, [partial(self._drafted, text) for text in texts], partial(self._tell, texts))

    def verifies(self) -> None:
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

    def _tell(self, texts: Sequence[Speculated]) -> Sequence[Postscript]:
        with self._on_lane():
            return [text.postscript() for text in texts]

    def _drafted(self, text: Speculated, postscript: Callable[[], Postscript]) -> Draft:
        """Return the draft, with the scores that the verdict needs on the target's lane."""
        draft, scores = text.answer
        if isinstance(draft, DrafthouseError):
            raise draft
        if not draft.tokens:
            return EMPTY
        if self._lanes and scores is not None:
            scores = self._lanes.hand_over(scores)
        known = {field.name: getattr(draft, field.name) for field in fields(Draft)}
        return RemoteDraft(**known | {"scores": scores}, postscript=postscript)
