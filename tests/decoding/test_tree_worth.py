"""Prices of a row up to which trees pay, on recorded texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.drafting.tree_shapes import TreeShape
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import RecordedSet
from decoding.replay.tree_worth import shape_of, tree_worth, with_row_price
from tests.kit.recordings import recorded, world

COSTS = CostModel.of_one((0.0, 10.0, 10.1), draft=1.0, draft_round=0.0, catch_up=0.0, round=0.0)


@pytest.fixture(scope="module")
def texts() -> RecordedSet:
    return RecordedSet([recorded(world(seed), Sampling(temperature=1.0, max_new_tokens=40), seed) for seed in range(8)])


def test_a_tree_is_never_slower_than_the_chain_of_as_many_tokens_if_its_places_cost_rows_alone(
    texts: RecordedSet,
) -> None:
    for row in tree_worth(texts, COSTS).same_rows:
        assert row.tree_tokens_per_s >= 0.98 * row.chain_tokens_per_s, "the shape is learnt along the way"


def test_the_price_up_to_which_a_tree_wins_separates_prices_at_which_it_does(texts: RecordedSet) -> None:
    found = tree_worth(texts, COSTS)
    most = found.most_row_price
    assert most is not None and found.row_price < most < 1.0
    dear = tree_worth(texts, with_row_price(COSTS, 1.2 * most))
    assert dear.row_price > most == pytest.approx(dear.most_row_price, rel=0.01)
    assert f"at most {100 * most:.1f} % of a pass" in found.sentence


def test_no_row_is_cheap_enough_where_each_place_costs_the_draft_much(texts: RecordedSet) -> None:
    costly = replace(COSTS.with_drafting(0.1), in_tree=20.0)
    found = tree_worth(texts, costly)
    assert found.most_row_price is None and "at no price" in found.sentence


def test_a_shape_says_how_often_each_place_is_accepted(texts: RecordedSet) -> None:
    fixed = choose("tree", {"shape": "2/11"})
    places = shape_of(texts.texts(), fixed)
    assert [(place.parent, place.rank) for place in places] == [(-1, 0), (-1, 1), (0, 0), (1, 0)]
    assert places[0].accepted > places[1].accepted > 0
    assert places[0].accepted + places[1].accepted <= 1 and places[0].accepted >= places[2].accepted
    counts = texts.play(fixed)
    assert sum(place.accepted for place in places) * counts.target_passes == pytest.approx(counts.accepted)
    assert len(TreeShape.read("2/11")) == len(places)
