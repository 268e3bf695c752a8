"""Random tokens as a draft after a miss. `copying` explains why such a draft is exact."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.dice import chance

RECENT = 4  # last tokens of the text that identify a position, with its length


def random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Random tokens, the same at the same position of the same text. They use the draft's coins, as no verdict does."""
    position = chance.digest([len(text), *text[-RECENT:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], position)) * vocab) for i in range(count)]
