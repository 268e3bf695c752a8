"""State of a batch, as the sources of its texts see it. Standard library only.

Everything here stems from earlier rounds, so that no decision depends on a token that the round is still drafting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import truediv
from typing import TypeVar

from decoding.prices.cost_model import CostModel
from decoding.prices.running import RunningMean

MEMORY = 16  # rounds that the running means look back
ODDS = 0.8  # of acceptance, before any verdict
DOUBTS = 16  # verdicts that weigh as much as these odds
VERDICTS = 64  # that the running means of acceptance look back
# After so many rounds without a draft, one text tries whether it would pay again; next time after twice as many.
TRIAL = 16
RAREST = 128  # and never after more. Trials are dear: the draft must first read the whole text
LONGEST = 8  # lookahead that the exchange rate considers

Common = TypeVar("Common")


def _odds() -> RunningMean:
    """Return how often something happens: a mean that begins quickly."""
    return RunningMean(VERDICTS, ODDS, DOUBTS, caps=False)


class BatchState:
    def __init__(self, costs: CostModel | None = None) -> None:
        self.costs = costs  # None: no source asks for them
        self.running = 1  # texts that take part in this round
        self.round = 0
        self._first, self._follows = _odds(), _odds()
        self._wanting: list[float] = []  # by depth: texts for which a step would pay, lately
        self._wants: list[int] = []  # the same in this round
        self._common: dict[Callable[[], object], object] = {}
        self._idle = 0  # rounds in which nobody drafted
        self._patience = TRIAL
        self._is_trial = False  # whether this round's only draft is one that seems not to pay
        self._times: dict[int, list[float]] = {}  # by texts: seconds of a round by its lookahead
        # Of this round. Every text asks for them after every token.
        self._by_lookahead: list[float] = []
        self._prices: dict[int, float] = {}

    @property
    def first(self) -> float:
        """How often a draft's first token is accepted."""
        return self._first.value

    @property
    def follows(self) -> float:
        """How often a token after an accepted one is accepted."""
        return self._follows.value

    def begin(self, running: int) -> None:
        """Begin a round of so many texts."""
        self.running = max(1, running)
        self.round += 1
        self._by_lookahead, self._prices = [], {}

    def common(self, make: Callable[[], Common]) -> Common:
        """Return what the sources of all texts share, made when the first one asks."""
        if make not in self._common:
            self._common[make] = make()
        return self._common[make]  # type: ignore[return-value]

    @property
    def pace(self) -> float:
        """Tokens per second of all texts together with the best fixed lookahead, by costs and verdicts: what a second
        is worth. A clock would count foreign programs and the prompts that are read meanwhile, and learn late."""
        return max(self._paces)

    @property
    def speculation_pays(self) -> bool:
        """Whether any fixed lookahead is faster than none."""
        return self.pace > self._paces[0]

    @property
    def _paces(self) -> Sequence[float]:
        """Tokens per second by lookahead."""
        if not self._by_lookahead:
            self._by_lookahead = [*map(truediv, self._gains(), self._seconds())]
        return self._by_lookahead

    def _gains(self) -> Iterator[float]:
        """Return the tokens of a round by its lookahead."""
        gain, survival = 1.0, self.first
        for _ in range(LONGEST + 1):
            yield self.running * gain
            gain += survival
            survival *= self.follows

    def _seconds(self) -> list[float]:
        """Return the seconds of a round by its lookahead."""
        if self.running not in self._times:
            costs, texts = self.costs, self.running
            assert costs, "no source prices rounds"
            self._times[texts] = [
                costs.fixed(texts) + costs.drafted(texts, k) + costs.verify(texts, texts * (k + 1))
                for k in range(LONGEST + 1)
            ]
        return self._times[self.running]

    def price(self, depth: int) -> float:
        """Price of drafting and verifying a token at this depth, in tokens."""
        if depth not in self._prices:
            assert self.costs, "no source prices rounds"
            row = self.costs.row(self.running, few=2, many=5)
            self._prices[depth] = self.pace * self._share(self.costs, depth) + self.pace * row
        return self._prices[depth]

    def _share(self, costs: CostModel, depth: int) -> float:
        """Seconds that a draft step at this depth takes of each text for which it usually would pay, if all these share
        it. The first step is every text's or none's."""
        together = self._wanting[depth] if depth and depth < len(self._wanting) else self.running
        together = min(max(1.0, together), self.running)
        return costs.draft(together) / together

    def request_step(self, depth: int) -> None:
        """Count a text for which a step at this depth pays if all others share it. Counting those that did draft would
        end with nobody beginning."""
        self._wants += [0] * (depth + 1 - len(self._wants))
        self._wants[depth] += 1

    def probe(self) -> bool:
        """Whether the text that asks is to try a draft that seems not to pay. At most one text of a round is: its draft
        model has read least of what was written meanwhile if it is always the same."""
        if self._idle < self._patience:
            return False
        self._idle, self._patience, self._is_trial = 0, min(RAREST, 2 * self._patience), True
        return True

    def learn(self, drafted: int, accepted: int) -> None:
        """Learn from a verdict. Tokens after the first refusal were not judged."""
        if drafted:
            self._first.add(accepted > 0)
        for depth in range(1, min(drafted, accepted + 1)):
            self._follows.add(accepted > depth)

    def note_round(self, drafted: Sequence[int]) -> None:
        """Learn from a round: the drafts' lengths."""
        if not any(drafted):
            self._idle += 1
        elif not self._is_trial:
            self._idle, self._patience = 0, TRIAL
        self._is_trial = False
        deepest = len(self._wanting)
        for depth, before in enumerate(self._wanting):
            now = self._wants[depth] if depth < len(self._wants) else 0
            self._wanting[depth] += (now - before) / MEMORY
        self._wanting += self._wants[deepest:]
        self._wants = []


SINGLE = BatchState()
