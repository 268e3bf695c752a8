"""Shapes of trees of candidates: how many alternatives follow each place, and which shape is worth most (Sequoia,
arXiv 2402.12374), and the sources that draft such trees. Standard library only."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from decoding.drafting.source import END, Asking, Judgement, Source, Step, View

MOST_TOKENS = 64  # of one tree
RANKS = 12  # alternatives after one place that have a count of their own
PRIOR_POWER = 1.2  # k alternatives miss the target's token with probability (k + 1) ** -1.2, until verdicts tell
PRIOR = [(rank + 1) ** -PRIOR_POWER - (rank + 2) ** -PRIOR_POWER for rank in range(RANKS)]
WEIGHT = 24.0  # tokens that a prior weighs as much as
FEWEST = 8  # verdicts after which a shape is first chosen anew; then after every doubling
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class TreeShape:
    """Places of a tree, level by level. Place n follows place `parents[n]`, or the text's end if that is -1, and holds
    alternative `ranks[n]`: 0 is the draft's favourite there."""

    parents: tuple[int, ...]
    ranks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.parents)

    @classmethod
    def of(cls, paths: Iterable[tuple[int, ...]]) -> TreeShape:
        """Make a shape from the ranks on the way to each place. With a place, its parent and all likelier alternatives
        must be there."""
        ordered = sorted(paths, key=lambda path: (len(path), path))
        numbers = {path: number for number, path in enumerate(ordered)}
        return cls(tuple(numbers.get(path[:-1], -1) for path in ordered), tuple(path[-1] for path in ordered))

    @classmethod
    def read(cls, text: str) -> TreeShape:
        """Read `3/21/1`: 3 alternatives first; the first of them has 2 followers, the second 1; then 1 after the
        first of these."""
        paths: list[tuple[int, ...]] = []
        level: list[tuple[int, ...]] = [()]
        for part in text.split("/"):
            counts = [DIGITS.index(digit) for digit in part]  # a ValueError tells of another character
            if len(counts) > len(level) or not any(counts):
                raise ValueError("a level has more numbers than the level before has places, or none above 0")
            level = [
                (*path, rank) for path, count in zip(level, counts, strict=False) for rank in range(count)
            ]  # places without a number have no followers
            paths += level
        return cls.of(paths)

    @cached_property
    def children(self) -> list[list[int]]:
        """The places after the text's end, then those after each place."""
        found: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for number, parent in enumerate(self.parents):
            found[parent + 1].append(number)
        return found

    @cached_property
    def levels(self) -> list[list[int]]:
        found, level = list[list[int]](), self.children[0]
        while level:
            found.append(level)
            level = [child for number in level for child in self.children[number + 1]]
        return found

    @cached_property
    def parents_by_level(self) -> list[tuple[int, ...]]:
        return [tuple(self.parents[number] for number in level) for level in self.levels]

    @property
    def depth(self) -> int:
        return len(self.levels)

    def path(self, ranks: Iterable[int]) -> list[int]:
        """Follow these alternatives from the text's end as far as the tree goes."""
        found: list[int] = []
        for rank in ranks:
            here = self.children[found[-1] + 1 if found else 0]
            if rank >= len(here):
                break
            found.append(here[rank])
        return found

    def ends(self, path: Sequence[int]) -> bool:
        """Whether nothing follows the last place of this path, which is not empty."""
        return bool(path) and not self.children[path[-1] + 1]


def best_shape(chance: Callable[[int, int], float], tokens: int, depth: int) -> TreeShape:
    """Choose the shape of so many tokens that is accepted furthest on average. `chance(depth, rank)` is the probability
    that an alternative is the target's token once all before it are accepted.

    The average is the sum of each place's probability to be accepted, and no place is likelier than its parent. So
    taking the likeliest place again and again finds what Sequoia finds by dynamic programming."""
    paths: list[tuple[int, ...]] = []
    heap: list[tuple[float, tuple[int, ...], float]] = [(-chance(0, 0), (0,), 1.0)]
    while heap and len(paths) < tokens:
        worth, path, before = heapq.heappop(heap)
        paths.append(path)
        level, rank = len(path) - 1, path[-1]
        if rank + 1 < RANKS:
            heapq.heappush(heap, (-before * chance(level, rank + 1), (*path[:-1], rank + 1), before))
        if level + 1 < depth:
            heapq.heappush(heap, (worth * chance(level + 1, 0), (*path, 0), -worth))
    return TreeShape.of(paths)


class RankCounts:
    """Counts at which rank of the draft's list the target's token stood, by depth in the tree. All samples of a run
    share them."""

    def __init__(self) -> None:
        self.verdicts = 0
        self._counts: list[list[int]] = []  # by depth; the last entry counts tokens further down the list

    def learn(self, ranks: Sequence[int]) -> None:
        """Count a verdict: the rank at each depth where the draft listed alternatives."""
        self.verdicts += 1
        self._counts += ([0] * (RANKS + 1) for _ in range(len(ranks) - len(self._counts)))
        for counts, rank in zip(self._counts, ranks, strict=False):
            counts[min(rank, RANKS)] += 1

    def chances(self, depth: int) -> list[list[float]]:
        """Probability of each rank at each depth. What few verdicts reached is near the average of all depths."""
        pooled = _mixed([sum(column) for column in zip(*self._counts, strict=True)], PRIOR)
        known = [_mixed(counts, pooled) for counts in self._counts[:depth]]
        return known + [pooled] * (depth - len(known))


def _mixed(counts: Sequence[int], prior: Sequence[float]) -> list[float]:
    total = sum(counts) + WEIGHT
    return [(count + WEIGHT * share) / total for count, share in zip(counts or [0] * RANKS, prior, strict=False)]


class ShapedTree(Source):
    """Drafts a tree of a shape that is known before it is drafted."""

    branches = True

    def __init__(self, shape: TreeShape) -> None:
        self._shape = shape
        self.listed = max(map(len, shape.children))  # alternatives of each place whose rank it learns

    def shape(self) -> TreeShape:
        """Return the shape of this round, whatever room is left."""
        return self._shape

    def propose(self, view: View) -> Asking:
        parents = self.shape().parents_by_level
        self.lookahead = len(parents)
        for level in parents:
            yield Step(level, self.listed)
        return "limit"


class LikeliestPaths(Source):
    """Drafts the `width` likeliest paths at each depth."""

    branches = True
    needs_likelihoods = True

    def __init__(self, depth: int, width: int) -> None:
        self.lookahead, self.width = depth, width

    def propose(self, view: View) -> Asking:
        opened: Sequence[int] = (END,)
        for _ in range(self.lookahead):
            if opened:
                opened = yield Step(opened, self.width, self.width)
        return "limit"


class ShapeByWorth(ShapedTree):
    """The shape of so many tokens, and at most so deep, that verdicts so far show to be worth most."""

    listed = RANKS

    def __init__(self, counts: RankCounts, tokens: int, depth: int) -> None:
        self._counts, self._tokens, self._depth = counts, tokens, depth
        self._due = 0  # verdicts at which the shape is next chosen

    def shape(self) -> TreeShape:
        if self._counts.verdicts >= self._due:
            chances = self._counts.chances(self._depth)
            self._shape = best_shape(lambda depth, rank: chances[depth][rank], self._tokens, self._depth)
            self._due = max(FEWEST, 2 * self._counts.verdicts)
        return self._shape

    def judged(self, judgement: Judgement) -> None:
        if judgement.tokens:
            self._counts.learn(judgement.ranks)
