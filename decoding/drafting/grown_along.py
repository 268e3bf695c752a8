"""Trees of the likeliest paths at every position of a recorded text, as a live run would grow them there.

Positions share passes: a pass reads one level of the trees of a stretch of the text. The stretch itself is the stem of
one big tree, so that each position's own tree follows its token.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice.dice import Dice
from decoding.drafting.source import END, Step
from decoding.drafting.tree import GrownTree, Listed, listing
from decoding.drafting.tree_shapes import LikeliestPaths, TreeShape
from decoding.models.runner import ModelRunner

STRETCH = 16  # positions whose trees are grown together


@dataclass
class Growing:
    """The tree behind the first `at` tokens of a text."""

    at: int
    levels_left: int
    width: int
    ends: Collection[int]
    grown: GrownTree = field(default_factory=GrownTree)
    opened: Sequence[int] = (END,)  # tokens that are to have followers
    numbers: dict[int, int] = field(default_factory=dict)  # of each token that was read, in the big tree
    rows: list[int] = field(default_factory=list)  # by level, tokens that were read

    def add(self, lists: Iterator[Listed]) -> None:
        """Add a level from the next lists, one for each opened token."""
        step = Step(self.opened, self.width, self.width)
        opened = self.grown.add_level(step, {parent: next(lists) for parent in self.opened}, self.ends)
        self.levels_left -= 1
        self.opened = opened if self.levels_left else ()
        if self.opened:
            self.rows.append(len(self.opened))

    @property
    def shape(self) -> TreeShape:
        grown = self.grown
        ranks = (grown.listed[parent].index(token) for parent, token in zip(grown.parents, grown.tokens, strict=True))
        return TreeShape(tuple(grown.parents), tuple(ranks), tuple(self.rows))


@torch.inference_mode()
def grown_along(
    draft: ModelRunner,
    dice: Dice,
    prompt: Sequence[int],
    text: Sequence[int],
    paths: LikeliestPaths,
    end_tokens: Collection[int],
) -> list[TreeShape]:
    """Grow the tree before each token of the text. The draft must have read the prompt, and the dice know it."""
    shapes: list[TreeShape] = []
    draft.rewind(len(prompt) - 1)
    for start in range(0, len(text), STRETCH):
        stem = [*prompt[-1:], *text[:-1]][start : start + STRETCH]
        trees = []
        for at in range(start, start + len(stem)):
            depth = min(paths.lookahead, max(0, draft.context - len(prompt) - at))
            trees.append(Growing(at, depth, paths.width, end_tokens, opened=(END,) if depth else ()))
        _grow(draft, dice, text, stem, trees)
        shapes += (tree.shape for tree in trees)
    return shapes


def _grow(draft: ModelRunner, dice: Dice, text: Sequence[int], stem: Sequence[int], trees: Sequence[Growing]) -> None:
    tree, count = draft.grow(), len(stem)
    logits = tree.extend(stem, range(-1, count - 1))
    for number, each in enumerate(trees):
        each.numbers[END] = number
    logits = logits[: sum(1 for each in trees if each.opened)]  # the last ones have no room near the context's end
    while any(each.opened for each in trees):
        _add_level(dice, text, logits, trees)
        reading = [(each, number) for each in trees for number in each.opened]
        if reading:
            parents = [each.numbers[each.grown.parents[number]] for each, number in reading]
            for position, (each, number) in enumerate(reading, start=count):
                each.numbers[number] = position
            logits = tree.extend([each.grown.tokens[number] for each, number in reading], parents)
            count += len(reading)
    tree.adopt(range(len(stem)))


def _add_level(dice: Dice, text: Sequence[int], logits: Tensor, trees: Sequence[Growing]) -> None:
    aheads = [[*text[: each.at], *each.grown.path(number)] for each in trees for number in each.opened]
    width = trees[0].width
    lists = iter(listing(Step((), width, width), dice, logits, aheads))
    for each in trees:
        if each.opened:
            each.add(lists)
