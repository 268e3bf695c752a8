"""What is drafted after a miss without asking the draft model: what followed the same words before, or just anything.

Neither was drawn from a distribution that anybody knows, so it is judged as a proposal that had to be: q is one at
each of its tokens. That is exact at every temperature, since neither looks at what the target is going to say.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from decoding import chance

LONGEST = 4  # words in a row that are looked for


class Echo:
    """Where the last words of a text have stood before, the longest run of them first."""

    def __init__(self) -> None:
        self._text: list[int] = []
        self._follows: dict[tuple[int, ...], int] = {}  # words -> the place behind their last coming

    def hear(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            at = len(self._text)  # what stands here follows the words before it
            for count in range(1, min(LONGEST, at) + 1):
                self._follows[tuple(self._text[at - count :])] = at
            self._text.append(token)

    def propose(self, count: int) -> list[int]:
        """What followed then. Where that reaches the end of the text, it goes on in circles."""
        text = self._text
        for words in range(min(LONGEST, len(text)), 0, -1):
            start = self._follows.get(tuple(text[len(text) - words :]))
            if start is not None:
                circle = text[start:]
                return [circle[i % len(circle)] for i in range(count)]
        return []


def random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Anything, but the same at the same place. From the draft's own coins, which no verdict uses."""
    place = chance.digest([len(text), *text[-LONGEST:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], place)) * vocab) for i in range(count)]


def certain(tokens: Sequence[int], vocab: int) -> Tensor:
    """Scores [n, vocab] from which nothing but these tokens can be drawn."""
    scores = torch.full((len(tokens), vocab), -torch.inf)
    scores[torch.arange(len(tokens)), list(tokens)] = 0.0
    return scores
