"""Suffix decoding: copy what followed the longest repeated context, for as long as it is likely (arXiv 2411.04975).

With `memory` it copies from the texts of earlier requests too, as the paper's cache of responses does. With a
classifier, that estimates each copied token from the length and counts of its match and from its position.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from decoding.drafting.params import Param
from decoding.drafting.source import Copying, Given, Judges, Match
from decoding.drafting.strategy import CAP, JUDGE, JUDGED, LONGEST, NEWEST, Former, Looks, Settings, Slider, Strategy
from decoding.drafting.suffixes import START, Suffixes

THRESHOLD = Param(
    "threshold",
    "float",
    0.3,
    "stop when the whole copy is less likely to be accepted than this; with a classifier, 0 is its own value",
    0.0,
    1.0,
)
MEMORY = Param("memory", "bool", False, "copies from the texts of earlier requests too", sets_apart=True)
MOST_TEXTS = 64  # that are remembered, the latest ones
CONTEXT = 64  # tokens of a prompt that are searched for in them
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
        return self.likely(self._suffixes.followers(*self._suffixes.repeated()))

    def likely(self, candidates: Iterable[tuple[int, Match]]) -> Sequence[int]:
        """Take these tokens, each with its match, as long as they are likely."""
        tokens: list[int] = []
        self.estimates = estimates = list[float]()
        self.matches = []
        survival = 1.0
        for token, match in islice(candidates, self.lookahead):
            estimate = self._judge(match, len(tokens))
            survival *= estimate
            if survival < self._threshold:
                break
            tokens.append(token)
            estimates.append(estimate)
            self.matches.append(match)
        return tokens


class RecentTexts:
    """The latest texts, by their prompts."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, ...], Suffixes] = {}

    def enter(self, prompt: Sequence[int], text: Suffixes) -> list[Suffixes]:
        """Return the texts of other prompts, and remember this one. An earlier answer to the same prompt is forgotten:
        it would be copied whole, and show the speed of a machine that is asked the same thing again."""
        self._texts.pop(tuple(prompt), None)
        others = [*self._texts.values()]
        self._texts[tuple(prompt)] = text
        if len(self._texts) > MOST_TEXTS:
            del self._texts[next(iter(self._texts))]
        return others


class Remembering(SuffixDecoding):
    """Copies from whichever text has the longest match: its own, or one of earlier requests."""

    remembers = True

    def __init__(self, threshold: float, cap: int, memory: RecentTexts, judge: Judges | None = None) -> None:
        super().__init__(threshold, cap, judge)
        self._memory = memory
        self._others: list[Suffixes] | None = None
        self._matches: list[tuple[int, int]] = []  # in each of the others: state and length

    def follow(self, text: Sequence[int]) -> None:
        if self._others is None:
            self._others = self._memory.enter(text, self._suffixes)
            self._matches = [(START, 0)] * len(self._others)
        for token in text[max(self._read, len(text) - CONTEXT) :]:
            self._matches = [
                other.matched(*match, token) for other, match in zip(self._others, self._matches, strict=True)
            ]
        super().follow(text)

    def copied(self) -> Sequence[int]:
        found, (state, length) = self._suffixes, self._suffixes.repeated()
        for other, match in zip(self._others or (), self._matches, strict=True):
            if match[1] > length:
                found, (state, length) = other, match
        return self.likely(found.followers(state, length))


def _source(given: Given, threshold: float, cap: int, memory: bool, classifier: str) -> SuffixDecoding:
    judge = given.judge
    threshold = threshold or (judge.threshold if judge else 0.0)
    if memory:
        return Remembering(threshold, cap, given.memory.setdefault("suffix", RecentTexts()), judge)
    return SuffixDecoding(threshold, cap, judge)


def _grid() -> Iterator[Settings]:
    for memory in (False, True):
        yield from ({"threshold": step / 20, "cap": LONGEST, "memory": memory} for step in range(19))
    for step in range(1, 19, 2):
        yield {"threshold": step / 20, "cap": LONGEST, "classifier": NEWEST}


STRATEGY = Strategy(
    slug="suffix",
    title="Suffix decoding",
    summary="Copies what followed the longest repeated context, for as long as that is likely; no draft model runs.",
    role="ranked",
    order=11,
    looks=Looks("◨", "M-7.5,-7.5H7.5V7.5H-7.5ZM-5.5,-5.5V5.5H0V-5.5Z", "#3f7a1c", "#87c05f", 64),
    params=(THRESHOLD, Param("cap", "int", 20, CAP, 1, 64), MEMORY, JUDGE),
    source=_source,
    if_judged={"threshold": 0.0},
    price_rule=lambda params: "copied" if params["classifier"] and not params["threshold"] else "",
    swept=("copied",),
    grid=_grid,
    sliders=(
        Slider("threshold", 0.05, 0.95, 0.05),
        Slider("cap", 1, LONGEST),
        Slider("memory", options=("false", "true")),
        JUDGED,
    ),
    formerly=(
        Former("disco-suffix", {"classifier": NEWEST}, "threshold"),
        Former("suffix-memory", {"memory": True}, "threshold"),
    ),
    needs_draft=False,
)
