"""Shapes of trees: which one is worth most, how one is written, what verdicts teach, and when trees pay."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from decoding.backends.contestants.base import Request
from decoding.backends.pair import ModelPair
from decoding.choice import choose, parse_choices
from decoding.core.ending import Ending
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.drafting.tree_shapes import RANKS, TreeShape, best_shape
from decoding.errors import BadStrategy
from decoding.trace.events import Recorder
from tests.kit.pairs import Letters
from tests.kit.runners import Counting
from tests.kit.worlds import state_of, tables

CHANCES = [0.62, 0.17, 0.08, 0.04, 0.02, 0.01, 0.005, 0.004, 0.003, 0.002, 0.001, 0.0005]


def worth(shape: TreeShape, chance: list[float]) -> float:
    """Accepted tokens on average."""
    found: list[float] = []
    for parent, rank in zip(shape.parents, shape.ranks, strict=True):
        found.append((found[parent] if parent >= 0 else 1.0) * chance[rank])
    return sum(found)


def by_dynamic_programming(chance: list[float], tokens: int, depth: int) -> float:
    """Accepted tokens on average with the best shape, as Sequoia finds it: the best split of the tokens among the
    subtrees of the first, second and further alternatives."""

    @cache
    def below(count: int, levels: int, rank: int) -> float:
        if not count or not levels or rank == RANKS:
            return 0.0
        splits = (
            chance[rank] * (1.0 + below(size - 1, levels - 1, 0)) + below(count - size, levels, rank + 1)
            for size in range(1, count + 1)
        )
        return max(splits)

    return below(tokens, depth, 0)


@pytest.mark.parametrize("tokens", [1, 25])
@pytest.mark.parametrize("depth", [1, 8])
def test_the_best_shape_is_the_one_that_dynamic_programming_finds(tokens: int, depth: int) -> None:
    shape = best_shape(lambda level, rank: CHANCES[rank], tokens, depth)
    assert worth(shape, CHANCES) == pytest.approx(by_dynamic_programming(CHANCES, tokens, depth))
    assert shape.depth <= depth and len(shape) == (tokens if depth > 1 else min(tokens, RANKS))


def test_a_shape_is_written_as_the_followers_of_each_place() -> None:
    shape = TreeShape.read("3/21/01")
    assert (shape.parents, shape.ranks) == ((-1, -1, -1, 0, 0, 1, 4), (0, 1, 2, 0, 1, 0, 0))
    assert [shape.path([0, 1, 0, 0]), shape.path([2, 0]), shape.path([3])] == [[0, 4, 6], [2], []]


@pytest.mark.parametrize("label", ["tree:2/11", "ssd:2,branches=6,backup=neural,placement=in-turn"])
def test_texts_share_the_passes_of_both_models(label: str) -> None:
    target, draft = (Counting(table, 4096, state_of) for table in tables(12, 3))
    pair = ModelPair(target.new_runner(), draft.new_runner(), Letters(), frozenset(), torch.float64)
    [choice] = parse_choices(label)
    requests = [Request(choice, [0, 1, 2], Sampling(max_new_tokens=12), seed, Ending(frozenset())) for seed in range(3)]
    assert len([*pair.contestant(choice).run(requests, lambda _: Recorder(), never, Load(3))]) == 3
    passes = [texts for texts, _ in (*target.passes, *draft.passes)]
    assert passes.count(3) > len(passes) / 2, "most passes are of all three texts"


@pytest.mark.parametrize("shape", ["", "8x9", "3//1", "3/2111"])
def test_a_shape_that_is_no_tree_is_refused(shape: str) -> None:
    with pytest.raises(BadStrategy, match="shape is"):
        choose("tree", {"shape": shape})
