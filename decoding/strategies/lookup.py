"""Prompt lookup: copy what followed the last tokens where they first occurred, as transformers does.

With a classifier, that estimates each copied token from the length and counts of its match and from its position, and
the copy ends where it is less likely to be accepted whole than the threshold.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from decoding.drafting.params import Param, Value
from decoding.drafting.source import Copying, Given, Judges, Match
from decoding.drafting.strategy import (
    JUDGE,
    JUDGED,
    LONGEST,
    NEWEST,
    EngineSetting,
    Former,
    Looks,
    Settings,
    Slider,
    Strategy,
)
from decoding.drafting.suffixes import Suffixes
from decoding.errors import BadStrategy
from decoding.strategies.suffix import usual_estimate

NGRAM = Param(
    "ngram", "int", 2, "at most this many last tokens are searched for in the text: max_matching_ngram_size", 1, 32
)


class PromptLookup(Copying):
    """Proposes the very tokens of transformers' PromptLookupCandidateGenerator: those after the first occurrence of the
    longest n-gram that ends the text. An index of first occurrences replaces its scan of the text."""

    def __init__(self, lookahead: int, ngram: int) -> None:
        self.lookahead, self._longest = lookahead, ngram
        self._text: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}  # n-gram -> position after its first occurrence

    def follow(self, text: Sequence[int]) -> None:
        read, own = len(self._text), self._text
        own += text[read:]
        for end in range(read + 1, len(own) + 1):
            for start in range(end - 1, max(0, end - self._longest) - 1, -1):
                self._after.setdefault(tuple(own[start:end]), end)

    def copied(self) -> Sequence[int]:
        text, length = self._text, len(self._text)
        for start in range(max(1, length - self._longest), length):
            after = self._after[tuple(text[start:])]
            if after < length:
                return text[after : after + self.lookahead]
        return ()


class JudgedLookup(PromptLookup):
    """Proposes the tokens of prompt lookup for as long as the probability that the target accepts all of them stays
    above the threshold."""

    def __init__(self, threshold: float, lookahead: int, ngram: int, judge: Judges = usual_estimate) -> None:
        super().__init__(lookahead, ngram)
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


def _source(given: Given, lookahead: int, ngram: int, threshold: float, classifier: str) -> PromptLookup:
    if not classifier:
        return PromptLookup(lookahead, ngram)
    judge = given.judge
    return JudgedLookup(threshold or (judge.threshold if judge else 0.0), lookahead, ngram, judge or usual_estimate)


def _check(params: Mapping[str, Value]) -> None:
    if params["threshold"] and not params["classifier"]:
        raise BadStrategy(f"threshold needs a classifier; add classifier={NEWEST}")


def _grid() -> Iterator[Settings]:
    for tokens in (2, 4, 6, 10, 15, LONGEST):
        yield from ({"lookahead": tokens, "ngram": ngram} for ngram in (1, 2, 3, 5))
    for step in range(1, 19, 2):
        own: Settings = {"lookahead": LONGEST, "threshold": step / 20, "classifier": NEWEST}
        yield from ({**own, "ngram": ngram} for ngram in (2, 3))


def _exports(params: Settings) -> Iterator[EngineSetting]:
    if params["classifier"]:
        return
    tokens, ngram = int(params["lookahead"]), int(params["ngram"])
    yield EngineSetting(
        "transformers",
        f"generate(prompt_lookup_num_tokens={tokens}, max_matching_ngram_size={ngram})",
        "For 1 text at a time: generate copies for a batch of one only.",
    )
    vllm = {"method": "ngram", "num_speculative_tokens": tokens, "prompt_lookup_max": ngram, "prompt_lookup_min": 1}
    yield EngineSetting("vLLM", f"--speculative-config '{json.dumps(vllm)}'")


STRATEGY = Strategy(
    slug="lookup",
    title="Prompt lookup",
    summary="Copies what followed the last tokens where they first occurred in the text; no draft model runs.",
    role="ranked",
    order=10,
    looks=Looks("◧", "M-7.5,-7.5H7.5V7.5H-7.5ZM0,-5.5V5.5H5.5V-5.5Z", "#7a3b10", "#efb18a", 130),
    params=(
        Param(
            "lookahead", "int", 10, "at most this many tokens are copied in a round: prompt_lookup_num_tokens", 1, 64
        ),
        NGRAM,
        Param(
            "threshold",
            "float",
            0.0,
            "with a classifier: stop when the whole copy is less likely to be accepted than this; 0: its own value",
            0.0,
            1.0,
        ),
        JUDGE,
    ),
    check=_check,
    source=_source,
    if_judged={"lookahead": 20},
    price_rule=lambda params: "copied" if params["classifier"] and not params["threshold"] else "",
    grid=_grid,
    exports=_exports,
    sliders=(Slider("lookahead", 1, LONGEST), Slider("ngram", 1, 8), JUDGED),
    formerly=(Former("disco-lookup", {"classifier": NEWEST}, "threshold", {"cap": "lookahead"}),),
    needs_draft=False,
)
