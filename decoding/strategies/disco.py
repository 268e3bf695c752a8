"""DISCO: a classifier estimates after each drafted token whether the target will accept it (arXiv 2405.04304)."""

from collections.abc import Iterator

from decoding.drafting.params import Param
from decoding.drafting.recalibration import Recalibration
from decoding.drafting.source import Given, Judgement, View
from decoding.drafting.strategy import CAP, CLASSIFIER, LONGEST, Looks, Settings, Strategy
from decoding.strategies.threshold import Unsure

THRESHOLDS = tuple(step / 20 for step in range(1, 20))


class Below(Unsure):
    """As published: stop after a token whose estimate is below the threshold."""

    sees = "estimate"


class Priced(Unsure):
    """Draft on while one more token is worth its time.

    One more token gains the product of two probabilities: that the target accepts the whole draft so far (the product
    of the estimates), and that it then accepts the next token too (a constant from recordings). The threshold is the
    value of the first probability at which gain equals cost. No other stopping time is better if later estimates do not
    depend on earlier ones: the first probability only falls, so a token that is not worth its time now will not be
    worth it later (docs/decisions/0010).

    The verdicts on the same text correct the estimates, so that a classifier from elsewhere costs little.
    """

    sees = "estimate"

    def __init__(self, threshold: float, cap: int) -> None:
        super().__init__(threshold, cap)
        self._recalibration = Recalibration()
        self._seen: list[float] = []
        self._survival = 1.0

    def begin(self, view: View) -> None:
        self._survival, self._seen = 1.0, []

    def stops(self, seen: float) -> bool:
        self._seen.append(seen)
        self._survival *= self._recalibration.corrected(seen)
        return self._survival < self.threshold

    def judged(self, judgement: Judgement) -> None:
        self._recalibration.learn(self._seen[: judgement.tokens], judgement.accepted)


RULES = {"priced": Priced, "threshold": Below}


def _source(given: Given, rule: str, threshold: float, cap: int, classifier: str) -> Unsure:
    if not threshold and given.classifier:
        threshold = given.classifier.tuned(rule)
    return RULES[rule](threshold, cap)


def _price_rule(params: Settings) -> str:
    return "priced" if params["rule"] == "priced" and not params["threshold"] else ""


def _grid() -> Iterator[Settings]:
    return ({"rule": rule, "threshold": t, "cap": LONGEST} for rule in ("threshold", "priced") for t in THRESHOLDS)


STRATEGY = Strategy(
    slug="disco",
    title="DISCO",
    summary="A trained classifier decides after each drafted token whether to draft another.",
    role="ranked",
    order=6,
    looks=Looks(
        "★",
        "M0.0,-9.5L2.4,-3.2L9.0,-2.9L3.8,1.2L5.6,7.7L0.0,4.0L-5.6,7.7L-3.8,1.2L-9.0,-2.9L-2.4,-3.2Z",
        "#e69f00",
        terminal=214,
    ),
    params=(
        Param(
            "rule",
            "choice",
            "priced",
            "priced: stop when one more token costs more time than it can bring, by estimates that what the target "
            "accepted in the same text corrects; threshold: stop below a fixed estimate, as published",
            choices=("priced", "threshold"),
        ),
        Param("threshold", "float", 0.0, "the rule stops below this; 0: the classifier's own value", 0.0, 1.0),
        Param("cap", "int", 20, CAP, 1, 64),
        CLASSIFIER,
    ),
    source=_source,
    price_rule=_price_rule,
    swept=("priced", "threshold"),
    grid=_grid,
    demo=({},),
)
