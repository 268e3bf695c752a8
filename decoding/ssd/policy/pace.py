"""What time has brought so far in this sample, as far as the draft's side can see: what waiting for it costs, when the
next verdict is due, and which backup a miss is best answered by."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.events import Backup, Source
from decoding.ssd.settings import WantedBackup


class Judged(Protocol):
    @property
    def tokens(self) -> Sequence[int]: ...
    @property
    def source(self) -> Source: ...
    @property
    def backup(self) -> Backup: ...


ENOUGH = 3  # rounds of a kind, before its figures say anything
RECENT = 16  # what is older fades
STALL = 4.0  # times the usual: what takes longer was interrupted, and says no more than that
OVERDUE = 1.5  # times the usual: a verdict that has not come by then may take any time


class Mean:
    """Of what was lately."""

    def __init__(self) -> None:
        self.count = 0
        self.value = 0.0

    def add(self, value: float) -> None:
        if self.count >= ENOUGH:
            value = min(value, STALL * self.value)
        self.count += 1
        self.value += (value - self.value) / min(self.count, RECENT)


class Pace:
    def __init__(self, backup: WantedBackup, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        """`clock` tells ns. A simulation brings its own."""
        self._backup = backup
        self._clock = clock
        self._per_token = Mean()  # drafted alone
        self._step = Mean()  # of all branches
        self._round = Mean()  # from an answer to the next question
        self._round_of: dict[int, Mean] = defaultdict(Mean)  # by how many tokens there were to verify
        self._after_hit = Mean()  # tokens that such a round brings
        self._after_model = Mean()
        self._echoed = Mean()
        self._hits = Mean()
        self._given_at = 0

    def gave(self, at: int | None = None) -> None:
        """A draft: now, unless the target took it before."""
        self._given_at = self._clock() if at is None else at

    def drafted(self, tokens: int, ns: int) -> None:
        self._per_token.add(ns / tokens)

    def stepped(self, ns: int) -> None:
        self._step.add(ns)

    def since_given(self, asked: int | None = None) -> int:
        """From the last answer to the next question: until now, unless somebody knows when it was asked."""
        return (self._clock() if asked is None else asked) - self._given_at

    def judged(self, draft: Judged, accepted: int, passed: int) -> None:
        """A verdict, and how long after its draft it was asked what comes next."""
        self._round.add(passed)
        self._round_of[len(draft.tokens)].add(passed)
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
        return self._per_token.value * self._per_ns

    def interrupts(self, tokens: int, use: float) -> bool:
        """Whether the verdict on a draft of so many tokens is likely to come while one more step is under way, and
        would wait longer for its end than the step is of use. Not where the time is unknown."""
        usual = self._round_of[tokens]
        if min(usual.count, self._step.count) < ENOUGH:
            return False
        elapsed = self.since_given()
        return elapsed < OVERDUE * usual.value and elapsed + self._step.value - usual.value > use

    def use_of_a_token(self, chance: float) -> float:
        """What a prepared token saves that counts with this chance: the time to draft it alone, after a hit; but no
        more than it is worth."""
        worth = chance / self._per_ns if self._per_ns else 0.0
        return self._hits.value * min(self._per_token.value, worth)

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

    @property
    def _per_ns(self) -> float:
        """Tokens that rounds bring, where the model drafted."""
        brought = self._after_hit.count * self._after_hit.value + self._after_model.count * self._after_model.value
        rounds = self._after_hit.count + self._after_model.count
        return brought / rounds / self._round.value if rounds and self._round.value else 0.0
