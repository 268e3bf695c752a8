"""A model that is a table: exact in float64, instant, a real `ModelRunner`. Tests stand on it."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from decoding.models.devices import Facts, facts_of
from decoding.models.runner import Feed, check_extend, check_ids, check_open, check_rewind, check_tree, extend_each

StateOf = Callable[[Sequence[int]], int]  # a text -> the table's row that says what follows it


def last_token(text: Sequence[int]) -> int:
    return text[-1]


def hashed(rows: int) -> StateOf:
    """Let the whole text choose among `rows` rows, so that what follows depends on everything before it."""
    return lambda text: zlib.crc32(array("q", text).tobytes()) % rows


@dataclass(frozen=True)
class TableModel:
    """The weights: logits [rows, V], and which row says what follows a text."""

    table: Tensor
    context: int = 4096
    state_of: StateOf = last_token

    def new_runner(self) -> TableRunner:
        return self.new_runners(1)[0]

    def new_runners(self, count: int, room: int = 0) -> list[TableRunner]:
        runners = [TableRunner(self.table, self._held(room), self.state_of) for _ in range(count)]
        for runner in runners:
            runner.model = self
        return runners

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        return extend_each(feeds)

    def bytes_for(self, room: int) -> int:
        return 8 * self._held(room)

    def _held(self, room: int) -> int:
        return min(room or self.context, self.context)


class TableRunner:
    def __init__(self, table: Tensor, context: int = 4096, state_of: StateOf = last_token) -> None:
        self.model = TableModel(table, context, state_of)
        self.table = table
        self.vocab_size = table.shape[1]
        self.context = context
        self.device = table.device
        self.state_of = state_of
        self._tokens: list[int] = []
        self._tree: TableTree | None = None

    @property
    def facts(self) -> Facts:
        return facts_of("table", self.device, self.table.dtype, "plain", self.context)

    @property
    def tokens(self) -> list[int]:
        return self._tokens

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        new = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        check_extend(len(self._tokens), len(new), need, self.context)
        check_ids(new, self.vocab_size)
        self._close()
        self._tokens.extend(new)
        ends = range(len(self._tokens) - need + 1, len(self._tokens) + 1)
        return self.table[[self.state_of(self._tokens[:end]) for end in ends]]

    def rewind(self, length: int) -> None:
        check_rewind(len(self._tokens), length)
        self._close()
        del self._tokens[length:]

    def grow(self) -> TableTree:
        self._close()
        self._tree = TableTree(self)
        return self._tree

    def adopt(self, text: list[int]) -> None:
        self._close()
        self._tokens = text

    def _close(self) -> None:
        if self._tree is not None:
            self._tree.is_open = False
            self._tree = None


class TableTree:
    def __init__(self, runner: TableRunner) -> None:
        self.model = runner.model
        self._runner = runner
        self._texts: list[list[int]] = []  # by token: all that it sees, itself included
        self.is_open = True

    def extend(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        runner = self._runner
        check_ids(tokens, runner.vocab_size)
        first, end = len(self._texts), len(runner.tokens) + 1
        for token, parent in zip(tokens, parents, strict=True):
            self._texts.append([*(self._texts[parent] if parent >= 0 else runner.tokens[: end + parent]), token])
        fresh = self._texts[first:]
        check_tree(self.is_open, [len(text) - 1 for text in fresh], len(tokens), runner.context)
        return runner.table[[runner.state_of(text) for text in fresh]]

    def adopt(self, path: Sequence[int]) -> None:
        check_open(self.is_open)
        self._runner.adopt(self._texts[path[-1]] if path else self._runner.tokens)
