"""Running estimates of what each source of drafts is worth: how often its tokens are accepted, and what they cost.
Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import exp, log

from decoding.prices.running import RunningMean

BINS, LOWEST, WIDTH = 10, -2.5, 1.0  # of estimates, in log-odds
LEAST_ODDS = exp(LOWEST)
PRIOR = 4.0  # judged tokens that the raw estimate counts for
RECENT = 200  # judged tokens, or rounds, that an estimate remembers
USUAL = 0.7  # acceptance of a drafted token before any was judged
KEPT = 16  # most verifications of one row count that a fit counts
RAREST = 255  # most rounds between trials of the model
STEEP = 0.05  # cost of one more row before it was measured, in verifications
HOPELESS = 0.05  # a copy is looked at no further when it is accepted so rarely
MARGIN = 0.5  # or half as often as would pay for one more row
FORGET = 1.0 - 1.0 / RECENT


def _mean(prior: float) -> RunningMean:
    return RunningMean(RECENT, prior, PRIOR, forget=FORGET, caps=False)


class BinnedAcceptance:
    """Acceptance of tokens by their raw estimate, in bins of equal width in log-odds: most estimates are close to 1.
    Before any was judged it is the middle of the bin."""

    def __init__(self) -> None:
        middles = (LOWEST + (bin + 0.5) * WIDTH for bin in range(BINS))
        self._shares = [_mean(1.0 / (1.0 + exp(-middle))) for middle in middles]

    def calibrated(self, raw: float) -> float:
        return self._of(raw).value

    def learn(self, raw: float, is_accepted: bool) -> None:
        self._of(raw).add(is_accepted)

    def _of(self, raw: float) -> RunningMean:
        odds = raw / max(1.0 - raw, 1e-9)
        bin = int((log(odds) - LOWEST) / WIDTH) if odds > LEAST_ODDS else 0
        return self._shares[min(BINS - 1, bin)]


class RowCosts:
    """Time of a pass by its rows: a line through the means of recent times. A source learns it while it decodes, in the
    clock's units; a `CostModel` is what was measured before."""

    def __init__(self) -> None:
        self._means: dict[int, RunningMean] = defaultdict(RunningMean)
        self._times: dict[int, float] = {}  # by rows that were measured: between their mean and the line
        self._added = self._due = 0
        self.row = self._base = 0.0

    def add(self, rows: int, took: float) -> None:
        self._means[rows].add(took)
        self._added += 1
        if self._added > self._due:  # a fit takes as long as ten decisions
            self._due = self._added + min(self._added, KEPT)
            self._fit()

    def of(self, rows: int) -> float:
        known = self._times.get(rows)
        return self._base + self.row * rows if known is None else known

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
        self._times = {
            rows: (mean.value * mean.count + (self._base + self.row * rows) * PRIOR) / (mean.count + PRIOR)
            for rows, mean in self._means.items()
        }


class Knowledge:
    """Running estimates of both sources. Texts that follow each other share them."""

    def __init__(self) -> None:
        self.copies = BinnedAcceptance()
        self.drafts = BinnedAcceptance()  # of the draft model's tokens, by what is seen of them
        self.follows = _mean(USUAL)  # acceptance of a token of the model after an accepted one
        self.drafted, self.accepted = _mean(2.5), _mean(1.6)  # tokens of a draft by the model
        self.first_pass = RowCosts()  # of the model in one round, by the tokens that it reads
        self.later_pass = RunningMean(RECENT)
        self.verifications = RowCosts()
        self._tokens = self._time = 0.0
        self._idle, self._patience = 0, 0

    def should_try(self, would_draft: bool) -> bool:
        """Whether the model should draft against what is known of it, which may be out of date. It is tried at first,
        and then ever more rarely."""
        self._idle = 0 if would_draft else self._idle + 1
        if self._idle <= self._patience:
            return False
        self._idle, self._patience = 0, min(RAREST, 2 * self._patience + 1)
        return True

    def note_round(self, tokens: int, passes: int, rows: int, read: int = 1) -> None:
        """Note what a round added to the text, at what its work usually takes. The model's first pass read so many
        tokens."""
        self._tokens = self._tokens * FORGET + tokens
        self._time = self._time * FORGET + self.usual_time(rows, passes, read)

    def note_passes(self, passes: int, took: float) -> None:
        """Note the time of a draft whose passes were not timed one by one."""
        self.first_pass.add(1, took / passes)
        self.later_pass.add(took / passes)

    def usual_time(self, rows: int, passes: int, read: int = 1) -> float:
        drafting = self.first_pass.of(read) + (passes - 1) * self.later_pass.value if passes else 0.0
        return self.verifications.of(rows) + drafting

    @property
    def has_prices(self) -> bool:
        return self._time > 0.0

    @property
    def _rate(self) -> float:
        """Recent tokens per time: what time would bring otherwise."""
        return self._tokens / self._time if self._time else 0.0

    @property
    def least_likely(self) -> float:
        """Probability below which one more copied token is surely not worth its row."""
        return MARGIN * self._rate * self.verifications.row

    def worth_copying(self, estimates: Sequence[float]) -> tuple[int, float, float]:
        """Return how many tokens of a copy are worth their rows, the probability that all are accepted, and what they
        gain, in tokens. The first that is not worth its row ends the copy."""
        count, survival, accepted = 0, 1.0, 0.0
        rate, time_of = self._rate, self.verifications.of
        single = before = time_of(1)
        for estimate in estimates:
            after = time_of(count + 2)
            if survival * estimate <= rate * (after - before):
                break
            count, survival, before = count + 1, survival * estimate, after
            accepted += survival
        return count, survival, accepted - rate * (before - single)

    def worth_drafting(self, survival: float, copied: int) -> float:
        """Return what a draft of the model gains, in tokens, after copied tokens that are all accepted with this
        probability. What the model has to read first is not priced: it would have to read that later."""
        drafted = self.drafted.value
        time = self.first_pass.of(1 + copied) + (drafted - 1.0) * self.later_pass.value
        return survival * self.accepted.value - self._rate * (time + drafted * self.verifications.row)

    def worth_another(self, survival: float) -> bool:
        """Whether the model should draft on after tokens that are accepted with this probability."""
        return survival * self.follows.value > self._price

    @property
    def _price(self) -> float:
        """Price of one more token that the model drafts, in tokens."""
        return self._rate * (self.verifications.row + self.later_pass.value)
