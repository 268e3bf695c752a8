"""A tree of candidates while it is drafted: several at each depth, all verified in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import isfinite

import torch
from torch import Tensor

from decoding.dice.dice import Dice, broken
from decoding.dice.verify import Verdict
from decoding.drafting.source import END, Step
from decoding.models.runner import Tree, TreePass

Listed = list[tuple[float, int]]  # (worth, token), best first
Lists = dict[int, Listed]  # by parent


@dataclass
class GrownTree:
    """Tokens are numbered in the order in which they come."""

    model: Tree  # of those tokens that the draft model has read, by numbers of its own
    alternatives: int  # after each token whose ranks a source learns
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)  # from the text's end to each token
    listed: dict[int, list[int]] = field(default_factory=dict)  # what the draft lists after a token, best first
    read: dict[int, int] = field(default_factory=dict)  # token -> the model's number
    worths: dict[int, float] = field(default_factory=lambda: {END: 0.0})  # log of the draft's probability of each path

    def path(self, number: int) -> tuple[int, ...]:
        return self.paths[number] if number >= 0 else ()

    def add(self, token: int, parent: int) -> int:
        self.paths.append((*self.path(parent), token))
        self.tokens.append(token)
        self.parents.append(parent)
        return len(self.tokens) - 1

    def add_level(self, step: Step, lists: Lists, ends: Collection[int]) -> list[int]:
        """Add the level that a step asks for, from these lists. Return its tokens that may have followers. Places of a
        shape that lie behind an end token are filled too, so that each round of a shape has the same passes."""
        self.listed |= {parent: [token for _, token in listed] for parent, listed in lists.items()}
        if step.paths:
            return [number for number in self._likeliest(step.paths, lists) if self.tokens[number] not in ends]
        left = {parent: iter(listed) for parent, listed in lists.items()}
        candidates = ((next(left[parent], None), parent) for parent in step.parents)
        return [self.add(found[1], parent) for found, parent in candidates if found]

    def _likeliest(self, paths: int, lists: Lists) -> list[int]:
        found = [
            (self.worths[parent] + worth, token, parent) for parent, listed in lists.items() for worth, token in listed
        ]
        added = []
        for worth, token, parent in sorted(found, key=lambda each: -each[0])[:paths]:  # of equals, by rank
            added.append(self.add(token, parent))
            self.worths[added[-1]] = worth
        return added

    def reading(self, opened: Sequence[int]) -> TreePass:
        """Return the pass that reads these tokens."""
        parents = [self.read.get(self.parents[number], END) for number in opened]
        self.read |= {number: len(self.read) + i for i, number in enumerate(opened)}
        return TreePass(self.model, parents)

    def adopt(self, path: Sequence[int]) -> None:
        """Let the model keep what it has read of the accepted path."""
        if read := [self.read[number] for number in path if number in self.read]:
            self.model.adopt(read)

    def ranks(self, verdict: Verdict) -> list[int]:
        """Return where the text's token stood on each list along the accepted path; `alternatives` if on none."""
        said = [*(self.tokens[number] for number in verdict.path), verdict.token]
        lists = [self.listed[number] for number in (END, *verdict.path) if number in self.listed]
        return [
            listed.index(token) if token in listed else self.alternatives
            for token, listed in zip(said, lists, strict=False)
        ]


def listing(step: Step, dice: Dice, logits: Tensor, aheads: Sequence[Sequence[int]]) -> list[Listed]:
    """List what may follow each of these, best first."""
    preferences = dice.preferences(dice.scores(logits, aheads), aheads)
    listed = step.listed or max(Counter(step.parents).values())
    best = preferences.topk(min(listed, preferences.shape[-1]), -1)
    values = best.values
    if step.paths:
        values = values - torch.logsumexp(preferences.double(), -1, keepdim=True)
    worths = values.tolist()
    if not all(isfinite(row[0]) for row in worths):
        raise broken()
    return [[*zip(row, tokens, strict=True)] for row, tokens in zip(worths, best.indices.tolist(), strict=True)]
