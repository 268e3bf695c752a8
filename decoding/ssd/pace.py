"""What time has brought so far in this sample, as far as the draft's side can see: what waiting for it costs, and which
backup a miss is best answered by."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from decoding.drafting import Draft
from decoding.events import Backup

ENOUGH = 3  # rounds of a kind, before its figures say anything


class Mean:
    def __init__(self) -> None:
        self.count = 0
        self.value = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        self.value += (value - self.value) / self.count


class Pace:
    def __init__(self, backup: Backup | Literal["auto"], clock: Callable[[], int] = time.perf_counter_ns) -> None:
        """`clock` gives nanoseconds; a simulation has one of its own."""
        self._backup = backup
        self._clock = clock
        self._per_token = Mean()  # ns, drafted alone
        self._round = Mean()  # ns, from an answer to the next question
        self._after_hit = Mean()  # tokens that such a round brings
        self._after_model = Mean()
        self._echoed = Mean()
        self._hits = Mean()
        self._given_at = 0

    def gave(self) -> None:
        self._given_at = self._clock()

    def drafted(self, tokens: int, ns: int) -> None:
        self._per_token.add(ns / tokens)

    def judged(self, draft: Draft, accepted: int) -> None:
        self._round.add(self._clock() - self._given_at)
        if draft.source == "hit":
            self._after_hit.add(accepted + 1)
        elif draft.backup not in ("ngram", "random"):
            self._after_model.add(accepted + 1)
        if draft.source != "fresh":
            self._hits.add(draft.source == "hit")

    def echoed(self, said: Sequence[int], text: Sequence[int]) -> None:
        """What the n-gram would have brought, asked or not: as far as the text has gone by then."""
        right = next((i for i, (a, b) in enumerate(zip(said, text, strict=False)) if a != b), len(said))
        self._echoed.add(min(right + 1, len(text)))

    @property
    def price(self) -> float:
        """Of one more token drafted while the target waits, in tokens."""
        brought = self._after_hit.count * self._after_hit.value + self._after_model.count * self._after_model.value
        rounds = self._after_hit.count + self._after_model.count
        if not rounds or not self._round.value:
            return 0.0
        return self._per_token.value * brought / rounds / self._round.value

    def backup(self, tokens: int) -> Backup:
        """The one that was asked for; or that which brings more tokens in a second: P12 of the fact sheet at a batch
        of one, with running means."""
        if self._backup != "auto":
            return self._backup
        if min(self._after_model.count, self._echoed.count) < ENOUGH:
            return "neural"
        hit, rest = self._hits.value, 1.0 - self._hits.value
        waiting = rest * tokens * self._per_token.value
        by_model = (hit * self._after_hit.value + rest * self._after_model.value) / (self._round.value + waiting)
        by_echo = (hit * self._after_hit.value + rest * self._echoed.value) / self._round.value
        return "neural" if by_model >= by_echo else "ngram"
