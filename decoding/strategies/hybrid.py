"""Hybrid: at each position, draft from the source that brings the most tokens per second: a copy, the draft model, or a
copy and then the model. Nothing is set by hand: acceptance and prices are running estimates.

A classifier estimates each copied token from its match, and each token of the draft model as in `disco`. Recent
verdicts correct its estimates.
"""

from collections.abc import Sequence

from decoding.drafting.estimates import HOPELESS, Knowledge
from decoding.drafting.source import STEP, Asking, Copy, Given, Judgement, Judges, Match, Sight, Source, View
from decoding.drafting.strategy import JUDGE, JUDGED, LONGEST, NEWEST, Former, Looks, Strategy
from decoding.strategies.suffix import SuffixDecoding, usual_estimate

FIRST = 3  # tokens that the model drafts in the first round, when no price is known
LEAN = 0.5  # tokens by which the model is preferred: what it reads and shows now also helps later rounds


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
        self._late = 1  # committed tokens that the model has not read
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
        self._rows = self._late + taken
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
        self._late = 1 + (accepted == rows - 1) if judgement.drafted else self._late + accepted + 1

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
