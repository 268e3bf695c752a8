"""The branches of one preparation: drafted side by side, one token for each of them in every step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice import Dice, broken
from decoding.runner import Branches


@dataclass
class Branch:
    """The draft that would follow one outcome."""

    accepted: int
    token: int  # the target's
    ahead: list[int]  # what precedes its next token: the accepted part, the target's token, what was drafted since
    tokens: list[int] = field(default_factory=list)  # what was drafted
    ended: bool = False


class Tree:
    def __init__(
        self, fork: Branches, outcomes: Sequence[tuple[int, int]], draft: Sequence[int], most: int, dice: Dice
    ) -> None:
        """`outcomes` are (accepted, token); `most` is the depth that the room allows."""
        self.branches = [Branch(k, token, [*draft[:k], token]) for k, token in outcomes]
        self.most = most
        self.depth = 0
        self.scores: list[Tensor] = []  # per step [B, V]: what each branch's token was drawn from
        self._fork = fork
        self._dice = dice
        self._row_of = {(b.accepted, b.token): row for row, b in enumerate(self.branches)}

    @property
    def is_done(self) -> bool:
        return self.depth == self.most or all(branch.ended for branch in self.branches)

    def step(self, end_tokens: Collection[int]) -> None:
        """Draft one more token in every branch. A row whose branch has ended goes on unseen: rows are free, another
        shape is not."""
        aheads = [branch.ahead for branch in self.branches]
        scores = self._dice.scores(self._fork.extend([ahead[-1] for ahead in aheads]), aheads)
        ids: list[int] = self._dice.draw(scores, aheads).tolist()
        if min(ids) < 0:
            raise broken()
        self.scores.append(scores)
        self.depth += 1
        for branch, token in zip(self.branches, ids, strict=True):
            branch.ahead.append(token)
            if not branch.ended:
                branch.tokens.append(token)
                branch.ended = token in end_tokens

    def find(self, accepted: int, token: int) -> int | None:
        """The row that was prepared for this outcome, if one was and has come to a first token."""
        return self._row_of.get((accepted, token)) if self.depth else None

    def rows(self, row: int, count: int) -> Tensor:
        """[count, V], what the first tokens of a branch were drawn from."""
        return torch.stack([scores[row] for scores in self.scores[:count]])

    def adopt(self, row: int) -> None:
        """Make this branch what the runner's text goes on with: a copy, no pass."""
        self._fork.adopt(row)
