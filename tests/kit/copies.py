"""Texts with repetitions, and a source that copies before the model drafts."""

from __future__ import annotations

import random
from collections.abc import Sequence

from decoding.backends.registry import Parts
from decoding.core.sequence import Drafter
from decoding.strategies.hybrid import BestSource, Knowledge
from decoding.strategies.suffix import SuffixDecoding


class CopyThenDraft(BestSource):
    """Copies two tokens wherever it can, and lets the model draft two more."""

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self.copier = SuffixDecoding(0.0, 20)

    def takes(self, estimates: Sequence[float]) -> tuple[int, int]:
        super().takes(estimates)
        self.estimates = [*estimates[:2]]
        return min(2, len(estimates)), 2

    def stops(self, seen: float, now: int) -> bool:
        super().stops(seen, now)
        return False


def chain() -> CopyThenDraft:
    """A source that copies and drafts in turn."""
    return CopyThenDraft(Knowledge())


def chained(parts: Parts) -> Drafter:
    """A drafter for that source, to run in a world."""
    return parts.drafter(chain())


def some_text(dice: random.Random, length: int, vocab: int) -> list[int]:
    """Random tokens, of which some pieces are copied from before, so that long n-grams match too."""
    text = [dice.randrange(vocab) for _ in range(8)]
    while len(text) < length:
        start = dice.randrange(len(text))
        text += text[start : start + dice.randrange(1, 9)] if dice.random() < 0.5 else [dice.randrange(vocab)]
    return text[:length]
