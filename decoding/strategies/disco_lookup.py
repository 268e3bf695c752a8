"""Prompt lookup with DISCO's classifier: it estimates each copied token from the length and counts of its match and
from its position. The copy ends where it is less likely to be accepted whole than the threshold."""

from collections.abc import Iterator, Sequence

from decoding.params import Param
from decoding.source import Given, Judges, Match
from decoding.strategies.disco_suffix import SLIDERS, THRESHOLD
from decoding.strategies.lookup import NGRAM, PromptLookup
from decoding.strategies.suffix import usual_estimate
from decoding.strategy import CAP, CLASSIFIER, LONGEST, Looks, Settings, Strategy
from decoding.suffixes import Suffixes


class JudgedLookup(PromptLookup):
    """Proposes the tokens of prompt lookup for as long as the probability that the target accepts all of them stays
    above the threshold."""

    def __init__(self, threshold: float, cap: int, ngram: int, judge: Judges = usual_estimate) -> None:
        super().__init__(cap, ngram)
        self.matches: list[Match] = []  # of the tokens proposed last
        self._threshold, self._judge = threshold, judge
        self._suffixes = Suffixes()  # knows how often a token followed the longest context

    def follow(self, text: Sequence[int]) -> None:
        for token in text[len(self._text) :]:
            self._suffixes.append(token)
        super().follow(text)

    def copied(self) -> Sequence[int]:
        found, survival = super().copied(), 1.0
        self.estimates = estimates = list[float]()
        self.matches = []
        for ahead, match in enumerate(self._suffixes.matches(found)):
            estimate = self._judge(match, ahead)
            survival *= estimate
            if survival < self._threshold:
                break
            self.matches.append(match)
            estimates.append(estimate)
        return found[: len(estimates)]


def _source(given: Given, threshold: float, cap: int, ngram: int, classifier: str) -> JudgedLookup:
    judge = given.judge
    return JudgedLookup(threshold or (judge.threshold if judge else 0.0), cap, ngram, judge or usual_estimate)


def _grid() -> Iterator[Settings]:
    return ({"threshold": step / 20, "cap": LONGEST, "ngram": ngram} for step in range(1, 19, 2) for ngram in (2, 3))


STRATEGY = Strategy(
    slug="disco-lookup",
    title="DISCO on prompt lookup",
    summary="Copies as prompt lookup does; a classifier that has learned from copies decides where each copy ends.",
    role="ranked",
    order=10,
    looks=Looks(
        "◐",
        "M8.5,0A8.5,8.5 0 1 1 -8.5,0A8.5,8.5 0 1 1 8.5,0ZM0,-6.5V6.5A6.5,6.5 0 0 0 0,-6.5Z",
        "#25307a",
        "#b9d0ff",
        61,
    ),
    params=(THRESHOLD, Param("cap", "int", 20, CAP, 1, 64), NGRAM, CLASSIFIER),
    source=_source,
    price_rule=lambda params: "" if params["threshold"] else "copied",
    grid=_grid,
    sliders=SLIDERS,
    needs_draft=False,
)
