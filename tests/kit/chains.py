"""Several continuations of a runner's text, side by side: a tree with a row for each in every step."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from decoding.models.runner import Feed, ModelRunner, TreePass


class Chains:
    def __init__(self, runner: ModelRunner, lengths: Sequence[int]) -> None:
        """`lengths` are how much of the text belongs to each."""
        self.tree = runner.grow()
        self._parents = [length - len(runner.tokens) - 1 for length in lengths]
        self._rows = 0

    def feed(self, tokens: Sequence[int]) -> Feed:
        """Return the pass that appends a token to each."""
        parents, first = self._parents, self._rows
        self._rows += len(tokens)
        self._parents = [*range(first, self._rows)]
        return TreePass(self.tree, parents), tokens, len(tokens)

    def extend(self, tokens: Sequence[int]) -> Tensor:
        reader, given, need = self.feed(tokens)
        return reader.extend(given, need)

    def adopt(self, which: int) -> None:
        self.tree.adopt(range(which, self._rows, len(self._parents)))
