"""DISCO under load: each drafted token must be worth its price for this batch, so that speculation shrinks to nothing
by itself when the machine is full.

One more token of one text gains the probability that the target accepts all tokens before it and it too. It costs its
share of a joint draft step and one more row in the joint verification, at the prices measured for so many texts. The
exchange rate is the speed at which all texts together would grow with the best fixed lookahead: a token that brings
less than the time it takes would have brought elsewhere is left out. No text is favoured, so the rows go to the places
that are worth most.
"""

from decoding.drafting.params import Param
from decoding.drafting.source import Judgement, View
from decoding.drafting.strategy import CAP, CLASSIFIER, Looks, Strategy
from decoding.strategies.disco import Priced


class Budget(Priced):
    prices_rounds = True

    def __init__(self, cap: int) -> None:
        super().__init__(0.0, cap)
        self._cap = cap

    @property
    def rests(self) -> bool:
        return self.batch.costs is not None and not self.batch.speculation_pays

    def begin(self, view: View) -> None:
        super().begin(view)
        self.lookahead = int(self.batch.probe()) if self.rests else self._cap

    def stops(self, seen: float) -> bool:
        batch, is_hopeless = self.batch, super().stops(seen)
        if not batch.costs:
            return is_hopeless
        depth, worth = len(self._seen), self._survival * batch.follows
        if worth >= batch.price(0):
            batch.request_step(depth)
        return worth < batch.price(depth)

    def judged(self, judgement: Judgement) -> None:
        super().judged(judgement)
        if self.batch.costs:
            self.batch.learn(judgement.tokens, judgement.accepted)


STRATEGY = Strategy(
    slug="budget",
    title="DISCO budget",
    summary="Drafts only the tokens that are worth their price for the number of texts decoded together.",
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
        Param("cap", "int", 8, CAP, 1, 64),
        CLASSIFIER,
    ),
    source=lambda given, cap, classifier: Budget(cap),
    grid=lambda: ({},),
)
