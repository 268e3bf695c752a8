"""Prompt lookup: copy what followed the last tokens where they first occurred, as transformers does.

With a classifier, that estimates each copied token from the length and counts of its match and from its position, and
the copy ends where it is less likely to be accepted whole than the threshold.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from decoding.drafting.params import Param, Value
from decoding.drafting.source import Copying, Given, Judges
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
from decoding.errors import BadStrategy
from decoding.strategies.suffix import SuffixDecoding

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


class JudgedLookup(SuffixDecoding):
    """Proposes the tokens of prompt lookup for as long as the probability that the target accepts all of them stays
    above the threshold. The automaton knows how often each followed the longest context."""

    def __init__(self, threshold: float, lookahead: int, ngram: int, judge: Judges | None = None) -> None:
        super().__init__(threshold, lookahead, judge)
        self._lookup = PromptLookup(lookahead, ngram)

    def follow(self, text: Sequence[int]) -> None:
        super().follow(text)
        self._lookup.follow(text)

    def copied(self) -> Sequence[int]:
        return self.likely(self._suffixes.matches(self._lookup.copied()))


def _source(given: Given, lookahead: int, ngram: int, threshold: float, classifier: str) -> Copying:
    if not classifier:
        return PromptLookup(lookahead, ngram)
    judge = given.judge
    return JudgedLookup(threshold or (judge.threshold if judge else 0.0), lookahead, ngram, judge)


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
