"""The branches of one preparation: drafted side by side, one token for each of them in every step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from decoding.runner import Branches
from decoding.ssd.chain import Branch
from decoding.ssd.drawing import Drawing


class Tree:
    def __init__(self, fork: Branches, branches: Sequence[Branch], most: int, drawing: Drawing) -> None:
        """`most` is the depth that the room allows."""
        self.branches = branches
        self._most = most
        self._fork = fork
        self._drawing = drawing
        self._scores: list[Tensor] = []  # per step [B, V]
        self._bent: list[Tensor] = []  # the same as tokens were drawn from it
        self._row_of = {(b.accepted, b.token): row for row, b in enumerate(self.branches)}

    @property
    def is_done(self) -> bool:
        return len(self._scores) == self._most or all(branch.stop for branch in self.branches)

    def step(self) -> None:
        """Draft one more token in every branch. The row of a branch that has stopped goes on unseen: rows are cheap,
        passes of another shape are not."""
        logits = self._fork.extend([branch.ahead[-1] for branch in self.branches])
        scores, bent = self._drawing.each(self.branches, logits, self._most)
        self._scores.append(scores)
        self._bent.append(bent)

    def find(self, accepted: int, token: int) -> int | None:
        """The row that was prepared for this outcome, if one was and has come to a first token."""
        return self._row_of.get((accepted, token)) if self._scores else None

    def rows(self, row: int, count: int) -> tuple[list[Tensor], list[Tensor]]:
        """A branch's scores for its first tokens, and what they were drawn from: [1, V] each."""
        scores, bent = ([step[row : row + 1] for step in steps[:count]] for steps in (self._scores, self._bent))
        return scores, bent

    def adopt(self, row: int) -> None:
        """Make this branch what the runner's text goes on with: a copy, no pass."""
        self._fork.adopt(row)
