"""Drafter that drafts a tree with a model: several candidates at each depth, all verified in one pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice import Dice, broken
from decoding.drafters.base import EMPTY, Draft, Drafter
from decoding.models.runner import ModelRunner, Tree, align, read_prompt
from decoding.verify import Verdict


@dataclass
class Grown:
    """A tree while it is drafted. Tokens are numbered in the order in which they come."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)  # from the text's end to each token
    worths: list[float] = field(default_factory=list)  # log of the draft's probability of each path

    def path(self, number: int) -> tuple[int, ...]:
        return self.paths[number] if number >= 0 else ()

    def worth(self, number: int) -> float:
        return self.worths[number] if number >= 0 else 0.0

    def add(self, worth: float, token: int, parent: int) -> int:
        self.paths.append((*self.path(parent), token))
        self.tokens.append(token)
        self.parents.append(parent)
        self.worths.append(worth)
        return len(self.tokens) - 1


@dataclass
class TreeDrafter(Drafter):
    """Keeps the `width` likeliest paths at each depth. Candidates are not drawn, so the target's own choice decides which
    path is followed, under any dice."""

    runner: ModelRunner
    depth: int
    width: int
    dice: Dice
    end_tokens: Collection[int] = ()

    def prepare(self, text: Sequence[int]) -> None:
        if len(text) <= self.runner.context:  # if the prompt is longer, the target decodes alone
            read_prompt(self.runner, text)

    def propose(self, text: Sequence[int], limit: int) -> Draft:
        depth = min(self.depth, limit, self.runner.context - len(text))
        if depth <= 0:
            return EMPTY
        logits = self.runner.extend(align(self.runner, text))
        grown, self._tree = Grown(), self.runner.grow()
        level, self._read, passes = self._level(grown, [-1], logits), 0, 1
        while passes < depth and (alive := [n for n in level if grown.tokens[n] not in self.end_tokens]):
            rows = self._extend(self._tree, grown, level)
            level = self._level(grown, alive, rows[[level.index(number) for number in alive]])
            passes += 1
        return Draft(tuple(grown.tokens), None, self.depth, "limit", "fresh", passes, parents=tuple(grown.parents))

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        read = [number for number in verdict.path if number < self._read]
        if draft.parents and read:
            self._tree.adopt(read)

    def _extend(self, tree: Tree, grown: Grown, level: Sequence[int]) -> Tensor:
        """Read a whole level, so that the model's tree numbers its tokens as `grown` does."""
        self._read = len(grown.tokens)
        return tree.extend([grown.tokens[n] for n in level], [grown.parents[n] for n in level])

    def _level(self, grown: Grown, parents: Sequence[int], logits: Tensor) -> list[int]:
        """Add the likeliest paths that go one token further than these, and return their numbers."""
        aheads = [grown.path(parent) for parent in parents]
        chances = torch.log_softmax(self.dice.preferences(self.dice.scores(logits, aheads), aheads).double(), -1)
        best = chances.topk(min(self.width, chances.shape[-1]), -1)
        if not bool(torch.isfinite(best.values[:, 0]).all()):
            raise broken()
        found = [
            (grown.worth(parent) + chance, token, parent)
            for parent, row, tokens in zip(parents, best.values.tolist(), best.indices.tolist(), strict=True)
            for chance, token in zip(row, tokens, strict=True)
        ]
        return [grown.add(*one) for one in sorted(found, reverse=True)[: self.width]]
