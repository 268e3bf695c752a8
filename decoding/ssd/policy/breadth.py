"""How many branches to open where the settings leave it open: as many as save most time, by the times of a run.

A hit saves drafting while the target waits. More branches hit more often, but each of their steps takes longer, so
fewer steps end within the verification. Standard library only.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence

from decoding.prices.cost_model import on_line
from decoding.prices.running import ENOUGH, RunningMean

RUNGS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)  # a pass of another shape costs more, so few numbers are in use
TRIED = (3, 12)  # a run begins with these in turn, to learn what a step takes by its branches
TRIALS = 4  # rounds of them: fewer than a warm-up has
AGAIN = 32  # after so many rounds, one of them is tried again
ROUNDS = 64  # that the means over rounds remember
LOOK = 8  # rounds from one look at what pays to the next: a look takes as long as half of a step
LOOKS = 16  # that the means over looks remember
SLACK = 0.5  # steps more than a draft has tokens that are to end in time, as no two verifications take equally long
GAIN = 0.02  # share of the saving by which another number must be better


class Breadth:
    """Times and hits of all texts of a run, and the number of branches that pays by them."""

    def __init__(self, step_ns: Callable[[int], float] | None = None) -> None:
        """`step_ns` returns what a step takes by its branches, if that is known, as in a simulation; otherwise steps
        are timed, and the first rounds try several numbers."""
        self._known_ns = step_ns
        self._steps_ns: dict[int, RunningMean] = defaultdict(RunningMean)
        self._token_ns = RunningMean(ROUNDS)  # one token drafted while the target waits
        self._window_ns = RunningMean(ROUNDS)  # from the opened branches to the next question
        self._drafted = RunningMean(ROUNDS)  # tokens of a draft: a step prepares one of them
        self._hits = {rung: RunningMean(LOOKS) for rung in RUNGS}  # probability that one of so many branches hits
        self._rounds = 0
        self._now = TRIED[0]

    def note_step(self, branches: int, took_ns: float) -> None:
        self._steps_ns[branches].add(took_ns)

    def note_drafting(self, tokens: int, took_ns: float) -> None:
        """Note a draft for which the target waited."""
        self._token_ns.add(took_ns / tokens)

    def note_round(self, drafted: int, window_ns: float) -> None:
        """Note the length of a draft, and the time that was left for steps while the target verified it."""
        self._drafted.add(drafted)
        self._window_ns.add(max(0.0, window_ns))

    def choose(self, values: Sequence[float], hides: bool) -> int:
        """Return how many branches to open, for outcomes of these probabilities. `hides` says whether the draft
        prepares while the target verifies; otherwise the target waits for every step."""
        if not values:
            return self._now
        self._rounds += 1
        if tried := self._tried(self._rounds):
            return tried
        if not self._looks(self._rounds):
            return self._now
        hits = [0.0, *itertools.accumulate(sorted(values, reverse=True))]
        for rung, mean in self._hits.items():
            mean.add(min(1.0, hits[min(rung, len(values))]))
        if self._token_ns.count and self._drafted.count and (self._known_ns or self._timed):
            saved = {rung: self._saved_ns(rung, hides) for rung in RUNGS}
            best = max(saved, key=lambda rung: saved[rung])
            if saved[best] - saved[self._now] > GAIN * abs(saved[best]):
                self._now = best
        return self._now

    def asks(self, most: int) -> int:
        """Return how many outcomes the next round needs to know of, at most so many: all where it looks which number
        pays, else as many as it opens."""
        number = self._rounds + 1
        return min(most, self._tried(number) or (most if self._looks(number) else self._now))

    def _looks(self, number: int) -> bool:
        return number <= 2 * LOOK or number % LOOK == 0

    def _tried(self, number: int) -> int | None:
        """Return how many branches the round of this number tries, if it tries some."""
        if self._known_ns or (number > TRIALS and number % AGAIN):
            return None
        turn = number - 1 if number <= TRIALS else number // AGAIN
        return TRIED[turn % len(TRIED)]

    @property
    def _timed(self) -> list[tuple[int, float]]:
        return sorted((branches, mean.value) for branches, mean in self._steps_ns.items() if mean.count >= ENOUGH)

    def _step_ns(self, branches: int) -> float:
        return max(1.0, self._known_ns(branches) if self._known_ns else on_line(self._timed, branches))

    def _saved_ns(self, branches: int, hides: bool) -> float:
        """Time that a round with so many branches saves. A step under way at the verdict keeps the target waiting, for
        half of the step in the mean."""
        step_ns, hit = self._step_ns(branches), self._hits[branches].value
        depth, window_ns = self._drafted.value, self._window_ns.value
        if not hides:
            return depth * (hit * self._token_ns.value - step_ns)
        late_ns = min(step_ns, max(0.0, (depth + SLACK) * step_ns - window_ns)) / 2
        return hit * min(depth, window_ns / step_ns) * self._token_ns.value - late_ns
