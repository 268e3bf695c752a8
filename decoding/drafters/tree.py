"""Drafter that drafts a tree with a model: several candidates at each depth, all verified in one pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol

import torch
from torch import Tensor

from decoding.dice import Dice, broken
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.models.runner import ModelRunner, Steps, Tree, TreePass, align, read_prompt, run_together
from decoding.tree_shapes import LikeliestPaths, TreePolicy, TreeShape
from decoding.verify import Verdict

START = -1  # the text's end, where numbers stand for drafted tokens


@dataclass
class Grown:
    """A tree while it is drafted. Tokens are numbered in the order in which they come."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)  # from the text's end to each token
    listed: dict[int, list[int]] = field(default_factory=dict)  # what the draft lists after a token, best first
    read: dict[int, int] = field(default_factory=dict)  # token -> its number among those that the draft has read

    def path(self, number: int) -> tuple[int, ...]:
        return self.paths[number] if number >= 0 else ()

    def add(self, token: int, parent: int) -> int:
        self.paths.append((*self.path(parent), token))
        self.tokens.append(token)
        self.parents.append(parent)
        return len(self.tokens) - 1

    def add_level(self, growth: Growth, lists: Lists) -> list[int]:
        """Let `growth` add the next level from these lists. Return its tokens that are to have followers."""
        self.listed |= {parent: [token for _, token in listed] for parent, listed in lists.items()}
        return growth.level(self, lists)


Listed = list[tuple[float, int]]  # (worth, token), best first
Lists = dict[int, Listed]  # by parent


class Growth(Protocol):
    """Decides which candidates a tree gets."""

    most: int  # alternatives that it wants listed after each place

    def begin(self, room: int) -> int:
        """Start a tree that may be `room` tokens deep. Return how deep it will be."""
        ...

    def worths(self, preferences: Tensor, best: Tensor) -> Tensor:
        """Return what it compares candidates by. `best` are the best of each row's preferences."""
        ...

    def level(self, grown: Grown, lists: Lists) -> list[int]:
        """Add the next level, and return which of its tokens are to have followers."""
        ...

    def judged(self, grown: Grown, verdict: Verdict) -> None:
        """Learn from a verdict."""
        ...


class Likeliest:
    """Keeps the likeliest paths at each depth."""

    def __init__(self, paths: LikeliestPaths, end_tokens: Collection[int]) -> None:
        self._depth, self.most, self._end_tokens = paths.depth, paths.width, end_tokens

    def begin(self, room: int) -> int:
        self._worths = {START: 0.0}  # log of the draft's probability of each path
        return min(self._depth, room)

    def worths(self, preferences: Tensor, best: Tensor) -> Tensor:
        return best - torch.logsumexp(preferences.double(), -1, keepdim=True)

    def level(self, grown: Grown, lists: Lists) -> list[int]:
        found = [
            (self._worths[parent] + worth, token, parent) for parent, listed in lists.items() for worth, token in listed
        ]
        added = []
        for worth, token, parent in sorted(found, key=lambda each: -each[0])[: self.most]:  # of equals, by rank
            added.append(grown.add(token, parent))
            self._worths[added[-1]] = worth
        return [number for number in added if grown.tokens[number] not in self._end_tokens]

    def judged(self, grown: Grown, verdict: Verdict) -> None:
        pass


class Shaped:
    """Fills the shape that a policy chooses, by the rank of each alternative on the draft's list. Places behind an end
    token are filled too, so that each round of a shape has the same passes."""

    def __init__(self, policy: TreePolicy) -> None:
        self.most, self._policy = policy.listed, policy

    def begin(self, room: int) -> int:
        self._shape: TreeShape = self._policy.shape().within(room)
        return self._shape.depth

    def worths(self, preferences: Tensor, best: Tensor) -> Tensor:
        return best

    def level(self, grown: Grown, lists: Lists) -> list[int]:
        children, first = self._shape.children, len(grown.tokens)
        for parent, listed in lists.items():
            for _, (_, token) in zip(children[parent + 1], listed, strict=False):
                grown.add(token, parent)
        return [number for number in range(first, len(grown.tokens)) if children[number + 1]]

    def judged(self, grown: Grown, verdict: Verdict) -> None:
        said = [*(grown.tokens[number] for number in verdict.path), verdict.token]
        lists = [grown.listed[number] for number in (START, *verdict.path) if number in grown.listed]
        self._policy.judged(
            [listed.index(token) if token in listed else self.most for token, listed in zip(said, lists, strict=False)]
        )


@dataclass
class TreeDrafter(Drafter):
    """Candidates are not drawn, so the target's own choice decides which path is followed, under any dice."""

    runner: ModelRunner
    growth: Growth
    dice: Dice

    def prepare(self, text: Sequence[int]) -> None:
        if len(text) <= self.runner.context:  # if the prompt is longer, the target decodes alone
            read_prompt(self.runner, text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        return run_together([self.drafting(text, limit)])[0]

    def drafting(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        depth = self.growth.begin(min(limit, self.runner.context - len(text)))
        if depth <= 0:
            return EMPTY
        logits = yield self.runner, align(self.runner, text), 1
        self._grown, self._tree, passes = Grown(), self.runner.grow(), 1
        opened = self._level([START], logits)
        while passes < depth and opened:
            reading = self._reading(self._tree, opened)
            rows = yield reading, [self._grown.tokens[number] for number in opened], len(opened)
            opened = self._level(opened, rows)
            passes += 1
        grown = self._grown
        return Draft(tuple(grown.tokens), None, depth, "limit", "fresh", passes, parents=tuple(grown.parents))

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        if not draft.parents:
            return
        read = [self._grown.read[number] for number in verdict.path if number in self._grown.read]
        if read:
            self._tree.adopt(read)
        self.growth.judged(self._grown, verdict)

    def _reading(self, tree: Tree, opened: Sequence[int]) -> TreePass:
        """Read the tokens that are to have followers. The model's tree numbers only those."""
        grown = self._grown
        parents = [grown.read.get(grown.parents[number], START) for number in opened]
        grown.read |= {number: len(grown.read) + i for i, number in enumerate(opened)}
        return TreePass(tree, parents)

    def _level(self, parents: Sequence[int], logits: Tensor) -> list[int]:
        """List what may follow these, and add the next level. Return its tokens that are to have followers."""
        grown = self._grown
        found = listing(self.growth, self.dice, logits, [grown.path(parent) for parent in parents])
        return grown.add_level(self.growth, dict(zip(parents, found, strict=True)))


def listing(growth: Growth, dice: Dice, logits: Tensor, aheads: Sequence[Sequence[int]]) -> list[Listed]:
    """List what may follow each of these, best first."""
    preferences = dice.preferences(dice.scores(logits, aheads), aheads)
    best = preferences.topk(min(growth.most, preferences.shape[-1]), -1)
    worths = growth.worths(preferences, best.values).tolist()
    if not all(isfinite(row[0]) for row in worths):
        raise broken()
    return [[*zip(row, tokens, strict=True)] for row, tokens in zip(worths, best.indices.tolist(), strict=True)]
