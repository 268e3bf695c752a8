"""Suffix decoding: copy what followed the longest repeated context, for as long as it is likely (arXiv 2411.04975)."""

from collections.abc import Iterator, Sequence

from decoding.params import Param
from decoding.source import Copying, Judges, Match
from decoding.strategy import CAP, LONGEST, Looks, Settings, Slider, Strategy
from decoding.suffixes import START, Suffixes

DOUBT = 1.0  # occurrences that a context of 1 token lacks to be sure of its follower; one of n tokens lacks 1/n


def usual_estimate(match: Match, ahead: int) -> float:
    """Estimate a token by its share among the followers. A short context counts as less often seen."""
    return match.times / (match.total + DOUBT / match.length)


class SuffixDecoding(Copying):
    """Proposes token after token while the probability that the target accepts all of them stays above the threshold.

    The estimate of one token grows with its share among the followers of the context, with their number, and with the
    length of the context, which each proposed token makes longer.
    """

    def __init__(self, threshold: float, cap: int, judge: Judges | None = None) -> None:
        """`judge` estimates each token in place of the formula."""
        self.lookahead, self._threshold, self._judge = cap, threshold, judge or usual_estimate
        self.matches: list[Match] = []  # of the tokens proposed last
        self._suffixes = Suffixes()
        self._read = 0

    def follow(self, text: Sequence[int]) -> None:
        for token in text[self._read :]:
            self._suffixes.append(token)
        self._read = len(text)

    def copied(self) -> Sequence[int]:
        return self.continued(self._suffixes, *self._suffixes.repeated())

    def continued(self, found: Suffixes, state: int, length: int) -> Sequence[int]:
        """Propose what followed a context of this length, as long as that is likely."""
        tokens: list[int] = []
        self.estimates = estimates = list[float]()
        self.matches = []
        survival = 1.0
        while state != START and len(tokens) < self.lookahead:
            token, count, total = found.follower(state)
            if not count:  # the text ends here: it loops, so go on where the loop began
                state = found.shorter(state)
                length = found.length(state)
                continue
            match = Match(length, count, total)
            estimate = self._judge(match, len(tokens))
            survival *= estimate
            if survival < self._threshold:
                break
            tokens.append(token)
            estimates.append(estimate)
            self.matches.append(match)
            state, length = found.after(state, token), length + 1
        return tokens


def _grid() -> Iterator[Settings]:
    return ({"threshold": step / 20, "cap": LONGEST} for step in range(19))


STRATEGY = Strategy(
    slug="suffix",
    title="Suffix decoding",
    summary="Copies what followed the longest repeated context, for as long as that is likely; no draft model runs.",
    role="ranked",
    order=11,
    looks=Looks("◨", "M-7.5,-7.5H7.5V7.5H-7.5ZM-5.5,-5.5V5.5H0V-5.5Z", "#3f7a1c", "#87c05f", 64),
    params=(
        Param("threshold", "float", 0.3, "stop when the whole draft is less likely to be accepted than this", 0.0, 1.0),
        Param("cap", "int", 20, CAP, 1, 64),
    ),
    source=lambda given, threshold, cap: SuffixDecoding(threshold, cap),
    grid=_grid,
    sliders=(Slider("threshold", 0.05, 0.95, 0.05), Slider("cap", 1, LONGEST)),
    needs_draft=False,
)
