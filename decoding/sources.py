"""Running estimates of what each source of drafts is worth: how often its tokens are accepted, and what they cost.
Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from decoding.ssd.policy.pace import RecentMean

BINS = 10
PRIOR = 4.0  # judged tokens that the raw estimate counts for
RECENT = 200  # judged tokens, or rounds, that an estimate remembers
USUAL = 0.7  # acceptance of a drafted token before any was judged
KEPT = 16  # most verifications of one row count that a fit counts
ALWAYS, RAREST = 3, 255  # rounds between trials of the model: at first and at last
STEEP = 0.05  # cost of one more row before it was measured, in verifications
MOST = 20  # tokens that the model drafts in one round
FORGET = 1.0 - 1.0 / RECENT


class Share:
    """Share of recent tokens that were accepted."""

    def __init__(self, prior: float) -> None:
        self._judged, self._accepted = PRIOR, PRIOR * prior

    @property
    def value(self) -> float:
        return self._accepted / self._judged

    def add(self, is_accepted: bool) -> None:
        self._judged = self._judged * FORGET + 1.0
        self._accepted = self._accepted * FORGET + is_accepted


class Calibration:
    """Acceptance of tokens by their raw estimate, in bins. Before any was judged it is the middle of the bin."""

    def __init__(self) -> None:
        self._shares = [Share((bin + 0.5) / BINS) for bin in range(BINS)]

    def calibrated(self, raw: float) -> float:
        return self._of(raw).value

    def learn(self, raw: float, is_accepted: bool) -> None:
        self._of(raw).add(is_accepted)

    def _of(self, raw: float) -> Share:
        return self._shares[min(BINS - 1, int(raw * BINS))]


class RowCosts:
    """Time of a verification by its rows: a line through the means of recent times."""

    def __init__(self) -> None:
        self._means: dict[int, RecentMean] = defaultdict(RecentMean)
        self.row = self._base = 0.0

    def add(self, rows: int, took: float) -> None:
        self._means[rows].add(took)
        self._fit()

    def of(self, rows: int) -> float:
        return self._base + self.row * rows

    def _fit(self) -> None:
        points = [(rows, mean.value, min(mean.count, KEPT)) for rows, mean in self._means.items()]
        weight = sum(count for _, _, count in points)
        x = sum(rows * count for rows, _, count in points) / weight
        y = sum(took * count for _, took, count in points) / weight
        spread = sum(count * (rows - x) ** 2 for rows, _, count in points)
        together = sum(count * (rows - x) * (took - y) for rows, took, count in points)
        # As if there were a little that shows the usual slope: row counts that hardly differ show none.
        self.row = min(max(0.0, (together + STEEP * y) / (spread + 1.0)), y / x)
        self._base = y - self.row * x


class Knowledge:
    """Running estimates of both sources. Texts that follow each other share them."""

    def __init__(self) -> None:
        self.copies = Calibration()
        self.confidences = Calibration()  # by the draft model's own probability
        self.first = Share(USUAL)  # acceptance of the first token that the model drafts
        self.follows = Share(USUAL)  # acceptance of each later one
        self.first_pass, self.later_pass = RecentMean(RECENT), RecentMean(RECENT)  # of the draft model in one round
        self.verifications = RowCosts()
        self._tokens = self._time = 0.0
        self._idle, self._patience = 0, 0

    def should_try(self, would_draft: bool) -> bool:
        """Whether the model should draft against what is known of it, which may be out of date. It is tried at first,
        and then ever more rarely, until it is worth its time."""
        if would_draft and self._patience > ALWAYS:
            self._idle, self._patience = 0, ALWAYS + 1
            return False
        self._idle += 1
        if self._idle <= self._patience:
            return False
        self._idle, self._patience = 0, min(RAREST, 2 * self._patience + 1)
        return True

    def note_round(self, tokens: int, passes: int, rows: int) -> None:
        """Note what a round added to the text, at what its work usually takes."""
        self._tokens = self._tokens * FORGET + tokens
        self._time = self._time * FORGET + self.usual_time(rows, passes)

    def note_passes(self, passes: int, took: float) -> None:
        """Note the time of a draft whose passes were not timed one by one."""
        self.first_pass.add(took / passes)
        self.later_pass.add(took / passes)

    def usual_time(self, rows: int, passes: int) -> float:
        drafting = self.first_pass.value + (passes - 1) * self.later_pass.value if passes else 0.0
        return self.verifications.of(rows) + drafting

    @property
    def _rate(self) -> float:
        """Recent tokens per time: what time would bring otherwise."""
        return self._tokens / self._time if self._time else 0.0

    def worth_copying(self, estimates: Sequence[float]) -> tuple[int, float, float]:
        """Return how many tokens of a copy are worth their rows, the probability that all are accepted, and what they
        gain, in tokens."""
        price, survival, gain = self._rate * self.verifications.row, 1.0, 0.0
        for count, estimate in enumerate(estimates):
            if survival * estimate <= price:
                return count, survival, gain
            survival *= estimate
            gain += survival - price
        return len(estimates), survival, gain

    def worth_drafting(self, survival: float) -> tuple[int, float]:
        """Return how many tokens the model should draft after tokens that are accepted with this probability, and what
        they gain; 0 if no number of tokens is worth the time."""
        survival *= self.first.value
        gain = survival - self._rate * (self.verifications.row + self.first_pass.value)
        best = (1, gain) if gain > 0 else (0, 0.0)
        for count in range(2, MOST + 1):
            survival *= self.follows.value
            gain += survival - self._price
            best = max(best, (count, gain), key=lambda each: each[1])
        return best

    def worth_another(self, survival: float) -> bool:
        """Whether the model should draft on after tokens that are accepted with this probability."""
        return survival * self.follows.value > self._price

    @property
    def _price(self) -> float:
        """Price of one more token that the model drafts, in tokens."""
        return self._rate * (self.verifications.row + self.later_pass.value)
