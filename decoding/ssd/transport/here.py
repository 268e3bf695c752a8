"""The exchange with a draft in the target's own process: in turn, or on a lane of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter_ns

from decoding.dice.verify import EMPTY, Draft
from decoding.errors import DrafthouseError
from decoding.ssd.speculator.speculator import Postscript, Speculator
from decoding.ssd.speculator.speculators import Speculators
from decoding.ssd.transport.exchange import Exchange, SsdDrafter
from decoding.ssd.transport.two_lanes import Lanes


class ExchangeHere(Exchange):
    """On a lane, the draft prepares for all texts while the target verifies them. In turn, the target waits for all of
    it: the same tokens and hits, no overlap."""

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

    def _tell(self, texts: Sequence[Speculator]) -> Sequence[Postscript]:
        with self._on_lane():
            return [text.postscript() for text in texts]

    def _drafted(self, text: Speculator, late: Callable[[], Postscript]) -> Draft:
        """Return the draft, with the scores that the verdict needs on the target's lane."""
        draft, scores = text.answer
        if isinstance(draft, DrafthouseError):
            raise draft
        if not draft.tokens:
            return EMPTY
        if self._lanes and scores is not None:
            scores = self._lanes.hand_over(scores)
        return replace(draft, scores=scores, late=late)
