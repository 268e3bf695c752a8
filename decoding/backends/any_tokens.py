"""Drafts that no model makes, to measure what verifying them costs. Standard library only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from decoding.drafting.source import Copying


class AnyTokens(Copying):
    """Proposes so many tokens in each round. What they are does not change how long their verification takes."""

    lookahead = sys.maxsize

    def __init__(self, lengths: Iterator[int]) -> None:
        self._lengths = lengths

    def follow(self, text: Sequence[int]) -> None:
        self._last = text[-1]

    def copied(self) -> Sequence[int]:
        return [self._last] * next(self._lengths)
