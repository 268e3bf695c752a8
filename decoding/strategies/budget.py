"""DISCO under load: each drafted token must be worth its price for this batch, so that speculation shrinks to nothing
by itself when the machine is full.

One more token of one text gains the probability that the target accepts all tokens before it and it too. It costs its
share of a joint draft step and one more row in the joint verification, at the prices measured for so many texts. The
exchange rate is the speed at which all texts together would grow with the best fixed lookahead: a token that brings
less than the time it takes would have brought elsewhere is left out. No text is favoured, so the rows go to the places
that are worth most.
"""

from decoding.drafting.params import Param
from decoding.drafting.recalibration import Recalibration
from decoding.drafting.source import Chain, Judgement, View
from decoding.drafting.strategy import CAP, CLASSIFIER, Looks, Strategy


class Budget(Chain):
    sees = "estimate"
    prices_rounds = True

    def __init__(self, mode: str, cap: int) -> None:
        self._stops_drafting, self._trims = mode != "trim", mode != "stop"
        self._cap = cap
        self._recalibration = Recalibration()
        self._seen: list[float] = []
        self._survival = [1.0]  # entry i: probability that the round's first i tokens are all accepted

    @property
    def rests(self) -> bool:
        return self.batch.costs is not None and not self.batch.speculation_pays

    def begin(self, view: View) -> None:
        self._survival, self._seen = [1.0], []
        self.lookahead = int(self.batch.probe()) if self.rests else self._cap

    def stops(self, seen: float) -> bool:
        self._seen.append(seen)
        self._survival.append(self._survival[-1] * self._recalibration.corrected(seen))
        batch = self.batch
        if not self._stops_drafting or not batch.costs:
            return False
        depth, worth = len(self._survival) - 1, self._survival[-1] * batch.follows
        if worth >= batch.price(0):
            batch.request_step(depth)
        return worth < batch.price(depth)

    def keeps(self, drafted: int) -> int:
        """Leave out the tail that is not worth its rows. What each token's own estimate says does not count for it."""
        if not self._trims or not self.batch.costs:
            return drafted
        row = self.batch.row
        worth = [self.batch.first, *(before * self.batch.follows for before in self._survival[1:drafted])]
        return next((depth for depth, gain in enumerate(worth) if gain < row), drafted)

    def judged(self, judgement: Judgement) -> None:
        drafted, accepted = judgement.tokens, judgement.accepted
        self._recalibration.learn(self._seen[:drafted], accepted)
        if self.batch.costs:
            self.batch.learn(drafted, accepted)


STRATEGY = Strategy(
    slug="budget",
    title="DISCO budget",
    summary="Drafts and verifies only the tokens that are worth their price for the number of texts decoded together.",
    role="ranked",
    order=7,
    looks=Looks(
        "✪",
        "M9.5,0A9.5,9.5 0 1 1 -9.5,0A9.5,9.5 0 1 1 9.5,0Z"
        "M0,-7L-1.7,-2.3L-6.7,-2.2L-2.7,0.9L-4.1,5.7L0,2.8L4.1,5.7L2.7,0.9L6.7,-2.2L1.7,-2.3Z",
        "#c0399f",
        "#ed64c8",
        133,
    ),
    params=(
        Param(
            "mode",
            "choice",
            "stop",
            "stop: stop drafting; trim: draft up to the cap and verify less; both",
            choices=("stop", "trim", "both"),
        ),
        Param("cap", "int", 8, CAP, 1, 64),
        CLASSIFIER,
    ),
    source=lambda given, mode, cap, classifier: Budget(mode, cap),
    grid=lambda: ({"mode": mode} for mode in ("stop", "trim", "both")),
)
