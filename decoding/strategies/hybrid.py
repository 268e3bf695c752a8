"""Hybrid: at each position, draft from the source that brings the most tokens per second: a copy, the draft model, or a
copy and then the model. Nothing is set by hand: acceptance and prices are running estimates.

A classifier estimates each copied token from its match, and each token of the draft model as in `disco`. Recent
verdicts correct its estimates.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import exp, log

from decoding.drafting.source import STEP, Asking, Copy, Given, Judgement, Judges, Match, Sight, Source, View
from decoding.drafting.strategy import JUDGE, JUDGED, LONGEST, NEWEST, Former, Looks, Strategy
from decoding.prices.running import RunningMean
from decoding.strategies.suffix import SuffixDecoding, usual_estimate

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
FIRST = 3  # tokens that the model drafts in the first round, when no price is known
LEAN = 0.5  # tokens by which the model is preferred: what it reads and shows now also helps later rounds


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


class BestSource(Source):
    """Takes a copy and lets the model draft after it, each for as long as one more token gains more than it costs.

    A round's value is the tokens that it is expected to add, less what its time would bring otherwise: the recent
    tokens per second times its seconds.
    """

    sees: Sight = "lead"
    copies = True
    weighs = True

    def __init__(self, knowledge: Knowledge, judge: Judges | None = None) -> None:
        """`judge` makes the raw estimates of copied tokens."""
        self.knowledge, self._judge = knowledge, judge or usual_estimate
        # It looks no further than a copy may be worth its rows.
        self.copier = SuffixDecoding(HOPELESS, LONGEST, self._estimate)
        self.estimates: list[float] = []  # of the round's tokens, copied and drafted
        self._start, self._found = 0, tuple[int, ...]()  # where the last copy began, and its tokens, taken or not
        self._raw: list[float] = []  # estimates of the last copy, as the judge made them
        self._seen: list[float] = []  # the model's lead for each of its tokens
        self._survival = 1.0
        self._likely = 1.0  # probability that the target accepts a copy as far as it was looked at
        self._since = 0  # when the model began its pass, in ns
        self._behind = 1  # committed tokens that the model has not read
        self._rows = 1  # tokens that its first pass of this round reads

    def follow(self, text: Sequence[int]) -> None:
        self.copier.follow(text)

    def propose(self, view: View) -> Asking:
        self._look_back(view.text)
        self.follow(view.text)
        self._start, self._found = len(view.text), tuple(view.usable(self.copier.copied()))
        taken, drafted = self.takes(self.copier.estimates[: len(self._found)])
        self.lookahead = taken + drafted
        if taken:
            yield Copy(self._found[:taken])
        self._since = view.now()
        for _ in range(drafted):
            seen = yield STEP
            if self.stops(seen, view.now()):
                return "rule"
        return "limit" if drafted else "rule"

    def _estimate(self, match: Match, ahead: int) -> float:
        raw, know = self._judge(match, ahead), self.knowledge
        estimate = know.copies.calibrated(raw)
        if not ahead:
            self._raw, self._likely = [raw], max(HOPELESS, estimate)  # verdicts on first tokens may correct an estimate
            return self._likely
        self._raw.append(raw)
        self._likely *= estimate
        return estimate if self._likely > know.least_likely else 0.0

    def takes(self, estimates: Sequence[float]) -> tuple[int, int]:
        """Return how many tokens of a copy to take, and the most that the model may add, from estimates of the copied
        tokens."""
        know = self.knowledge
        taken, survival, gain = know.worth_copying(estimates)
        goes_on = taken > 0 and know.worth_drafting(survival, taken) > 0
        instead = know.worth_drafting(1.0, 0) + LEAN
        drafts = instead > 0 and instead > gain
        if drafts or not know.has_prices or know.should_try(goes_on):
            taken, survival, goes_on = 0, 1.0, True
        self.estimates, self._seen, self._survival = [*estimates[:taken]], [], survival
        self._rows = self._behind + taken
        return taken, (LONGEST if know.has_prices else FIRST) if goes_on else 0

    def stops(self, seen: float, now: int) -> bool:
        """Whether the model is to stop after a token, which was there at this time, in ns."""
        know = self.knowledge
        if self._seen:
            know.later_pass.add(now - self._since)
        else:
            know.first_pass.add(self._rows, now - self._since)
        self._since = now
        self._seen.append(seen)
        self.estimates.append(know.drafts.calibrated(seen))
        self._survival *= self.estimates[-1]
        return not know.worth_another(self._survival)

    def judged(self, judgement: Judgement) -> None:
        know, copied, accepted = self.knowledge, judgement.copied, judgement.accepted
        rows = judgement.tokens + 1
        know.verifications.add(rows, judgement.took)
        know.note_round(accepted + 1, judgement.passes, rows, self._rows)
        for number, seen in enumerate(self._seen[: max(0, accepted + 1 - copied)], start=copied):
            know.drafts.learn(seen, number < accepted)
            if number > copied:
                know.follows.add(number < accepted)
        if judgement.drafted and accepted >= copied:
            know.drafted.add(judgement.drafted)
            know.accepted.add(accepted - copied)
        self._behind = 1 + (accepted == rows - 1) if judgement.drafted else self._behind + accepted + 1

    def _look_back(self, text: Sequence[int]) -> None:
        """Compare the last copy, whether or not it was taken, with what the target wrote in its place."""
        for raw, token, own in zip(self._raw, self._found, text[self._start :], strict=False):
            self.knowledge.copies.learn(raw, token == own)
            if token != own:
                return


class Estimated(BestSource):
    sees = "estimate"


def _source(given: Given, classifier: str) -> BestSource:
    return (Estimated if classifier else BestSource)(given.memory.setdefault("hybrid", Knowledge()), given.judge)


STRATEGY = Strategy(
    slug="hybrid",
    title="Hybrid",
    summary="Drafts from the source worth most at each position: a copy, the draft model, or one after the other.",
    role="ranked",
    order=12,
    looks=Looks("▚", "M-8,-8H0V0H-8ZM0,0H8V8H0Z", "#b0306a", "#fe7da9", 168),
    params=(JUDGE,),
    source=_source,
    grid=lambda: ({}, {"classifier": NEWEST}),
    sliders=(JUDGED,),
    formerly=(Former("disco-hybrid", {"classifier": NEWEST}, "classifier"),),
)
