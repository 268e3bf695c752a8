"""Drafts that are trees: several candidates at each depth, verified in one pass. The text stays the target's."""

from __future__ import annotations

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.dice.verify import by_tree
from decoding.errors import BadStrategy
from decoding.trace.events import Drafted, Verified
from tests.kit.worlds import World

SHARED = Sampling(max_new_tokens=40, temperature=0.9, dice="shared", repetition_penalty=1.2)


def test_a_tree_of_width_one_drafts_what_a_chain_drafts() -> None:
    world = World.of_tables(12, 7)
    chain, tree = (
        [event.tokens for event in world.run(choose(slug, params), [3, 1], SHARED, 1)[1].events
         if isinstance(event, Drafted)]
        for slug, params in (("static", {"lookahead": 4}), ("tree", {"shape": "4x1"}))
    )  # fmt: skip
    assert chain == tree


def test_a_wider_tree_is_accepted_further_and_says_how_many_rows_that_took() -> None:
    world = World.of_tables(12, 7)
    lengths = {}
    for shape in ("4x1", "4x3"):
        _, recorder = world.run(choose("tree", {"shape": shape}), [3, 1], SHARED, 1)
        verdicts = [event for event in recorder.events if isinstance(event, Verified)]
        drafts = [event for event in recorder.events if isinstance(event, Drafted)]
        lengths[shape] = sum(verdict.accepted for verdict in verdicts) / len(verdicts)
        assert max(draft.rows for draft in drafts) == {"4x1": 4, "4x3": 12}[shape]
        for draft, verdict in zip(drafts, verdicts, strict=False):
            assert len(draft.tokens) >= verdict.accepted
    assert lengths["4x3"] > lengths["4x1"]


def test_the_target_reads_no_accepted_token_twice() -> None:
    world = World.of_tables(12, 7)
    read: list[int] = []
    extend = world.target.extend
    world.target.extend = lambda tokens, need=1: read.append(len(tokens)) or extend(tokens, need)  # type: ignore[func-returns-value,method-assign,assignment]
    world.run(choose("tree", {"shape": "4x2"}), [3, 1], Sampling(max_new_tokens=40), 1)
    assert sum(read) <= 1 + 1, "the prompt, and at most one round without a draft"


@pytest.mark.parametrize(
    ("own", "path", "token", "outcome"),
    [
        ([5, 0, 0, 0], (), 5, "correction"),
        ([1, 7, 0, 0], (0,), 7, "correction"),
        ([1, 3, 0, 9], (0, 2), 9, "bonus"),
        ([2, 0, 4, 0], (1,), 4, "bonus"),
    ],
)
def test_the_targets_choices_are_followed_through_the_tree(own, path, token, outcome) -> None:
    verdict = by_tree(own, tokens=(1, 2, 3), parents=(-1, -1, 0))
    assert (verdict.path, verdict.token, verdict.outcome) == (path, token, outcome)
    assert verdict.accepted == len(path)


@pytest.mark.parametrize(
    "shape", ["", "0", "0x2", "4x0", "8x9", "ax2", "-1x2", "3//1", "3/2111", "3/0", "3/-", "z/z", "1/" * 999]
)
def test_a_shape_that_is_no_tree_is_refused(shape: str) -> None:
    with pytest.raises(BadStrategy, match="shape is"):
        choose("tree", {"shape": shape})
