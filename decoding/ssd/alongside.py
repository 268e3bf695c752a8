"""The draft's side in the target's thread, on a lane of its own: while the target's device verifies, the thread has
nothing else to do than to have the draft prepare, one step after another, until the verdict is there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from decoding.drafters.base import EMPTY, Draft
from decoding.ssd.lanes import Lanes
from decoding.ssd.prepared import Prepared
from decoding.ssd.speculating import Speculator


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
        if self._sends_scores and draft.scores is not None:
            draft = dataclasses.replace(draft, scores=self._lanes.hand_over(draft.scores))
        self._draft = draft
        return draft
