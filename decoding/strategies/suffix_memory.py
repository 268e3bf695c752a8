"""Suffix decoding that also copies from the texts of earlier requests, as the paper's cache of responses does."""

from collections.abc import Sequence

from decoding.source import Given
from decoding.strategies.suffix import STRATEGY as SUFFIX
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import Looks, Strategy
from decoding.suffixes import START, Suffixes

MOST_TEXTS = 64  # that are remembered, the latest ones
CONTEXT = 64  # tokens of a prompt that are searched for in them


class Memory:
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

    def __init__(self, threshold: float, cap: int, memory: Memory) -> None:
        super().__init__(threshold, cap)
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
        return self.continued(found, state, length)


def _source(given: Given, threshold: float, cap: int) -> Remembering:
    return Remembering(threshold, cap, given.memory.setdefault("suffix-memory", Memory()))


STRATEGY = Strategy(
    slug="suffix-memory",
    title="Suffix decoding with memory",
    summary="Suffix decoding that also copies from the texts of earlier requests.",
    role="ranked",
    order=11,
    looks=Looks("⬓", "M-7.5,-7.5H7.5V7.5H-7.5ZM-5.5,-5.5V0H5.5V-5.5Z", "#a26e45", "#b3845b", 131),
    params=SUFFIX.params,
    source=_source,
    remembers=True,
    grid=SUFFIX.grid,
    sliders=SUFFIX.sliders,
    remark="copies from earlier requests, so what it gains depends on their order",
    needs_draft=False,
)
