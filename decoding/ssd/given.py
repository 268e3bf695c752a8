"""The draft that is with the target, and what its making has shown of what may come after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor

from decoding.disco.echoes import Echoes
from decoding.drafters.base import EMPTY, Draft
from decoding.ssd.chain import Chain
from decoding.ssd.drawing import Drawn


@dataclass
class Given:
    draft: Draft = EMPTY
    limit: int = 0  # the most tokens it could have
    chain: Chain = field(default_factory=Chain)
    steps: Sequence[Drawn] = ()  # of the tree that it comes from, until somebody needs rows of them
    branch: int = -1  # that tree's row
    is_adopted: bool = True  # whether what the model has read of it follows the text in its cache
    rows: list[Drawn] = field(default_factory=list)  # [1, V] each: after the text, after its first token, and so on
    last: Tensor | None = None  # logits [1, V] after all of its tokens, where they are known and not in `rows` yet
    best: list[tuple[list[int], list[float]]] = field(default_factory=list)  # of rows: tokens liked best, how much
    heard: Sequence[Echoes] = ()  # where the text has been before, after itself and after each token
    ranked: Sequence[list[int]] = ()  # for each accepted count, tokens that the target may say, likeliest first
    echoed: Sequence[int] = ()  # for each, how much of the text before it the first but the favourite rests on

    def look(self) -> list[Drawn]:
        """The rows that are known. Cutting them out of the steps can wait until the answer is out."""
        self.rows += [step.row(self.branch) for step in self.steps]
        self.steps = ()
        return self.rows
