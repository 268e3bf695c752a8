"""Prompt lookup: copy what followed the last tokens where they first occurred, as transformers does."""

import json
from collections.abc import Iterator, Sequence

from decoding.params import Param
from decoding.source import Copying
from decoding.strategy import LONGEST, Export, Looks, Settings, Slider, Strategy

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


def _grid() -> Iterator[Settings]:
    return ({"lookahead": tokens, "ngram": ngram} for tokens in (2, 4, 6, 10, 15, LONGEST) for ngram in (1, 2, 3, 5))


def _exports(params: Settings) -> Iterator[Export]:
    tokens, ngram = int(params["lookahead"]), int(params["ngram"])
    yield Export(
        "transformers",
        f"generate(prompt_lookup_num_tokens={tokens}, max_matching_ngram_size={ngram})",
        "For 1 text at a time: generate copies for a batch of one only.",
    )
    vllm = {"method": "ngram", "num_speculative_tokens": tokens, "prompt_lookup_max": ngram, "prompt_lookup_min": 1}
    yield Export("vLLM", f"--speculative-config '{json.dumps(vllm)}'")


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
    ),
    source=lambda given, lookahead, ngram: PromptLookup(lookahead, ngram),
    grid=_grid,
    exports=_exports,
    sliders=(Slider("lookahead", 1, LONGEST), Slider("ngram", 1, 8)),
    needs_draft=False,
)
