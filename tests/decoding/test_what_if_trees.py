"""Trees of other shapes, played on the traces of strategies that ran."""

from __future__ import annotations

import pytest

from decoding.choice import Choice, choose
from decoding.dice.sampling import Sampling
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import counted
from decoding.replay.what_if.places import TracedText
from decoding.replay.what_if.recorded import RecordedComparison
from decoding.replay.what_if.simulation import simulate
from decoding.trace.events import to_dict
from tests.kit.worlds import World

COSTS = CostModel.of_one((0.0, 10.0, 11.0), 1.0, 0.0, 0.0, 0.0)
SHARED = Sampling(temperature=1.0, max_new_tokens=40)
NARROW = choose("tree", {"shape": "2/11/1"})


def known_from(*choices: Choice) -> tuple[World, RecordedComparison]:
    world = World.of_tables(12, 4, noise=0.9)
    decoded, _ = world.run(choose("autoregressive"), [3, 1], SHARED)
    places = TracedText.of(len(decoded.tokens), 40, False, tokens=decoded.tokens)
    for choice in choices:
        places.learn(to_dict(event, seq) for seq, event in enumerate(world.run(choice, [3, 1], SHARED)[1].events))
    return world, RecordedComparison([places], 1, COSTS, 2)


@pytest.mark.parametrize("choice", [NARROW, choose("tree", {"rows": 6, "depth": 3}), choose("tree", {"shape": "3"})])
def test_a_tree_that_listed_every_token_tells_what_any_other_would_have_done(choice: Choice) -> None:
    world, found = known_from(choose("tree", {"shape": "c/" + "c" * 4}))
    [refused], [accepted] = simulate(found, choice).refused, simulate(found, choice).accepted
    live = counted(world.run(choice, [3, 1], SHARED)[1].events)
    assert refused.rounds.total() >= live.rounds.total() >= accepted.rounds.total()
    if refused == accepted:
        assert refused == live


def test_chains_leave_open_how_far_a_tree_would_have_been_accepted() -> None:
    world, found = known_from(choose("static", {"lookahead": 3}))
    [refused], [accepted] = simulate(found, NARROW).refused, simulate(found, NARROW).accepted
    live = counted(world.run(NARROW, [3, 1], SHARED)[1].events)
    assert refused.rounds.total() > live.rounds.total() >= accepted.rounds.total()


def test_a_chain_and_a_tree_together_tell_more_than_the_chain() -> None:
    chain, tree = choose("static", {"lookahead": 3}), choose("tree", {"shape": "4/44"})
    spread = []
    for ran in ((chain,), (chain, tree)):
        found = simulate(known_from(*ran)[1], NARROW)
        spread.append(found.refused[0].rounds.total() - found.accepted[0].rounds.total())
    assert spread[0] > spread[1] >= 0
