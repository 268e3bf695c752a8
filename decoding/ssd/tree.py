"""The branches of one preparation: drafted side by side, one token for each of them in every step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from decoding.runner import Branches
from decoding.ssd.chain import Branch
from decoding.ssd.drawing import Drawing, Drawn


class Tree:
    def __init__(
        self, fork: Branches, branches: Sequence[Branch], most: int, is_room_behind: bool, drawing: Drawing
    ) -> None:
        """`most` is the depth that is wanted and has room; `is_room_behind` says whether the draft could read on."""
        self.branches = branches
        self._most = most
        self._is_room_behind = is_room_behind
        self._fork = fork
        self._drawing = drawing
        self._drawn: list[Drawn] = []  # per step [B, V]
        self._last: Tensor | None = None  # logits [B, V] after the last token of branches that have come to the end
        self._row_of = {(b.accepted, b.token): row for row, b in enumerate(self.branches)}

    @property
    def depth(self) -> int:
        return len(self._drawn)

    @property
    def is_done(self) -> bool:
        return self.depth == self._most or all(branch.stop for branch in self.branches)

    @property
    def can_round_off(self) -> bool:
        return self.depth == self._most and self._last is None and self._is_room_behind

    def step(self) -> None:
        """Draft one more token in every branch. The row of a branch that has stopped goes on unseen: rows are cheap,
        passes of another shape are not."""
        self._drawn.append(self._drawing.each(self.branches, self._read(), self._most))

    def round_off(self) -> None:
        """Read the last tokens too. Whichever branch wins, its next preparation opens without a pass."""
        self._last = self._read()

    def find(self, accepted: int, token: int) -> int | None:
        """The row that was prepared for this outcome, if one was and has come to a first token."""
        return self._row_of.get((accepted, token)) if self._drawn else None

    def steps(self, count: int) -> list[Drawn]:
        """The first ones, as far as the branches have come: [B, V] each."""
        return self._drawn[:count]

    def last(self, row: int) -> Tensor | None:
        """Logits [1, V] after all of a branch's tokens, if they were rounded off."""
        return None if self._last is None else self._last[row : row + 1]

    def adopt(self, row: int) -> None:
        """Make this branch what the runner's text goes on with: a copy, no pass."""
        self._fork.adopt(row)

    def _read(self) -> Tensor:
        return self._fork.extend([branch.ahead[-1] for branch in self.branches])
