"""Branches of one text: one token is drafted for each of them in every step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from decoding.models.runner import Feed, ModelRunner, Steps, TreePass
from decoding.ssd.speculator.drawing import Branch, CurrentDraft, Drawing, DrawnRows


class BranchTree:
    def __init__(
        self,
        runner: ModelRunner,
        lengths: Sequence[int],
        branches: Sequence[Branch],
        most: int,
        is_room_behind: bool,
        drawing: Drawing,
    ) -> None:
        """`lengths` are those of the texts before the branches. `most` is the wanted depth for which there is room;
        `is_room_behind` says whether the model could read on."""
        self.branches = branches
        self._grown = runner.grow()
        end = len(runner.tokens) + 1
        self._parents: Sequence[int] = [length - end for length in lengths]
        self._rows = 0  # of the grown tree: a branch has one in each step
        self._most = most
        self._is_room_behind = is_room_behind
        self._drawing = drawing
        self._drawn: list[DrawnRows] = []  # per step [B, V]
        self._last: Tensor | None = None  # logits [B, V] after the last tokens of finished branches
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

    def step(self) -> Steps[None]:
        """Draft one more token in every branch. A branch that has stopped keeps its row: rows are cheap, passes of
        another shape are not."""
        self._drawn.append(self._drawing.each(self.branches, (yield self._next()), self._most))

    def round_off(self) -> Steps[None]:
        """Read the last tokens too. The next preparation of any winner then opens without a pass."""
        self._last = yield self._next()

    def find(self, accepted: int, token: int) -> int | None:
        """The row of the branch for this outcome, if there is one and it has a first token."""
        return self._row_of.get((accepted, token)) if self._drawn else None

    def won(self, row: int, room: int, lookahead: int) -> CurrentDraft:
        """Return a branch as a draft of at most so many tokens."""
        chain = self.branches[row].cut(room, lookahead)
        count = len(chain.tokens)
        last = self._last[row : row + 1] if self._last is not None and count == self.depth else None
        rows = [step.row(row) for step in self._drawn[: count + 1]]
        return CurrentDraft(chain=chain, rows=rows, branch=row, last=last)

    def adopt(self, row: int) -> None:
        """Continue the runner's text with this branch: a copy, no pass."""
        self._grown.adopt(range(row, self._rows, len(self.branches)))

    def _next(self) -> Feed:
        count, parents, first = len(self.branches), self._parents, self._rows
        self._rows += count
        self._parents = range(first, self._rows)
        return TreePass(self._grown, parents), [branch.ahead[-1] for branch in self.branches], count
