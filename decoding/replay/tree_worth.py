"""Worth of trees on recorded texts, against the chain of as many tokens and against the best chain."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.choice import Choice, choose
from decoding.drafting.records import RecordedText
from decoding.drafting.tree_shapes import FixedShape, ShapedTree
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.replay.planning import STATICS, RecordedSet, static
from decoding.replay.player import Player, replay
from decoding.strategies.tree import ROWS, STRATEGY

HALVINGS = 12  # of the interval that holds the price
GAIN = 1.005  # a tree that gains less is as good as a chain

Played = list[tuple[Choice, Counts]]


@dataclass(frozen=True)
class SameRows:
    """The best tree and the chain of the same number of drafted tokens."""

    rows: int
    tree: str
    tree_tokens_per_s: float
    chain_tokens_per_s: float


@dataclass(frozen=True)
class TreePlace:
    """One place of a tree."""

    parent: int  # number of another place; -1: the text's end
    rank: int  # which alternative there
    accepted: float  # share of the rounds that accept it


@dataclass(frozen=True)
class TreeWorth:
    same_rows: list[SameRows]
    row_price: float  # of one more row here, as a share of a verification of one row
    most_row_price: float | None  # up to which the best tree beats the best chain; None: at no price
    best: str
    shape: list[TreePlace]  # of the best tree, after all recorded texts

    @property
    def sentence(self) -> str:
        gains = [f"{row.tree_tokens_per_s / row.chain_tokens_per_s:.2f} with {row.rows}" for row in self.same_rows]
        most = self.most_row_price
        where = "at no price of a row" if most is None else f"where a row costs at most {100 * most:.1f} % of a pass"
        return (
            f"A tree beats the best chain {where}; here a row costs {100 * self.row_price:.1f} %. Speed of the best "
            f"tree, relative to a chain of as many tokens: {', '.join(gains)} tokens."
        )

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "sentence": self.sentence}


def tree_worth(study: RecordedSet, costs: CostModel) -> TreeWorth:
    trees: Played = [(choice, study.play(choice)) for choice in _trees()]
    chains: Played = [(choice, study.play(choice)) for choice in [*STATICS, *map(static, ROWS)]]
    same = []
    for rows in ROWS:
        tree, speed = _fastest([played for played in trees if played[0].params["rows"] == rows], costs)
        [chain] = [counts for choice, counts in chains[-len(ROWS) :] if choice.params["lookahead"] == rows]
        same.append(SameRows(rows, tree.label, speed, costs.tokens_per_s(chain)))

    def wins(price: float) -> bool:
        there = with_row_price(costs, price)
        return _fastest(trees, there)[1] > GAIN * _fastest(chains, there)[1]

    best, _ = _fastest(trees, costs)
    return TreeWorth(same, costs.row() / costs.verify(1, 1), _highest(wins), best.label, shape_of(study.texts(), best))


def with_row_price(costs: CostModel, price: float) -> CostModel:
    """The same costs, but one more row costs this share of a verification of one row."""
    first = costs.verify(1, 1)
    return dataclasses.replace(costs, target={1: [(1, first), (2, first * (1 + price))]})


def shape_of(texts: Sequence[RecordedText], choice: Choice) -> list[TreePlace]:
    """The shape that a choice has once it knows all texts, and how often they accept each of its places."""
    sources = choice.sources()
    replay(texts, sources)
    known = sources()
    assert isinstance(known, ShapedTree)
    shape = known.shape()
    paths = [each.path or () for text in texts for each in Player().single(text, FixedShape(shape))]
    accepted = Counter(number for path in paths for number in path)
    return [
        TreePlace(parent, rank, accepted[number] / max(1, len(paths)))
        for number, (parent, rank) in enumerate(zip(shape.parents, shape.ranks, strict=True))
    ]


def _trees() -> list[Choice]:
    choices = (choose(STRATEGY.slug, params) for params in STRATEGY.grid())
    return [choice for choice in choices if not choice.needs_likelihoods]


def _fastest(played: Played, costs: CostModel) -> tuple[Choice, float]:
    speeds = [(choice, costs.tokens_per_s(counts)) for choice, counts in played]
    return max(speeds, key=lambda pair: pair[1])


def _highest(holds: Callable[[float], bool]) -> float | None:
    """The highest price at which this holds, if it holds at price 0. 1.0: even where a row costs a whole pass."""
    if not holds(0.0):
        return None
    low, high = 0.0, 1.0
    if holds(high):
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
