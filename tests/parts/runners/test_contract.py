"""The contract that every runner keeps.

"Fresh" logits are those of the same weights reading the whole text at once, from nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoding.errors import BadPrompt
from decoding.models.runner import Feed, ModelRunner, Tree, TreeReading, extend_all
from tests.kit.chains import Chains

TEXT = torch.randint(0, 97, (60,), generator=torch.Generator().manual_seed(5)).tolist()


def fresh(runner: ModelRunner, text: Sequence[int], need: int = 1) -> Tensor:
    """Return fresh logits. The runner loses its text."""
    runner.rewind(0)
    return runner.extend(text, need).clone()


def assert_close(got: Tensor, want: Tensor) -> None:
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-5)


TREE = [(5, -1), (6, -1), (7, 0), (8, 0), (9, 1), (10, 3), (11, 5)]  # token and parent
PATHS = [[5], [6], [5, 7], [5, 8], [6, 9], [5, 8, 10], [5, 8, 10, 11]]


def grown(runner: ModelRunner, sizes: Sequence[int]) -> tuple[Tree, Tensor]:
    """Read a tree in steps of these sizes."""
    tree, logits, at = runner.grow(), [], 0
    for size in sizes:
        tokens, parents = zip(*TREE[at : at + size], strict=True)
        logits.append(tree.extend(tokens, parents).clone())
        at += size
    return tree, torch.cat(logits)


@pytest.mark.parametrize("sizes", [(7,), (2, 3, 1, 1)])
def test_each_token_of_a_tree_sees_the_text_and_its_ancestors_only(runner: ModelRunner, sizes: Sequence[int]) -> None:
    want = torch.cat([fresh(runner, [*TEXT[:20], *path]) for path in PATHS])
    fresh(runner, TEXT[:20])
    assert_close(grown(runner, sizes)[1], want)
    assert runner.tokens == TEXT[:20]
    for move in (lambda _: runner.rewind(20), lambda _: runner.extend([1]), lambda tree: tree.adopt([0])):
        tree, _ = grown(runner, (1,))
        move(tree)
        with pytest.raises(RuntimeError, match="closed"):
            tree.extend([1], [-1])


def test_branches_of_several_texts_and_a_text_are_read_together(runner: ModelRunner) -> None:
    runners = runner.model.new_runners(3)
    lengths = ([3, 4, 5], [6])
    for own, count in zip(runners, (5, 6, 4), strict=True):
        own.extend(TEXT[:count])
    forks = [Chains(own, places) for own, places in zip(runners, lengths, strict=False)]
    for step, tokens in enumerate(([[7, 8, 9], [1]], [[5, 5, 6], [9]])):
        feeds = [fork.feed(ids) for fork, ids in zip(forks, tokens, strict=True)]
        *branches, chain = extend_all([*feeds, (runners[2], [TEXT[4 + step]], 1)])
        assert_close(chain, fresh(runner, TEXT[: 5 + step]))
        for rows, places, fed in zip(branches, lengths, ([[7, 8, 9], [5, 5, 6]], [[1], [9]]), strict=True):
            for row, length in enumerate(places):
                ahead = [ids[row] for ids in fed[: step + 1]]
                assert_close(rows[row : row + 1], fresh(runner, [*TEXT[:length], *ahead]))
    forks[0].adopt(2)
    assert runners[0].tokens == [*TEXT[:5], 9, 6]


def test_trees_and_a_chain_are_read_together(runner: ModelRunner) -> None:
    """Two texts verify trees, one after a token that it has not read yet, and one verifies a chain."""
    texts, tokens, parents = (TEXT[:20], TEXT[30:37]), [1, 2, 3, 4], (-1, -1, 0, 2)
    paths = [[1], [2], [1, 3], [1, 3, 4]]
    want = [torch.cat([fresh(runner, [*text, *path]) for path in paths]) for text in texts]
    chained = fresh(runner, TEXT[5:14], 5)
    own, behind, chain = runner.model.new_runners(3)
    own.extend(texts[0])
    behind.extend(texts[1][:-1])
    chain.extend(TEXT[5:9])
    trees = TreeReading(own, [], parents), TreeReading(behind, texts[1][-1:], parents)
    feeds: list[Feed] = [(trees[0], tokens, 4), (chain, TEXT[9:14], 5), (trees[1], [*texts[1][-1:], *tokens], 4)]
    got = extend_all(feeds)
    for logits, expected in zip(got, (want[0], chained, want[1]), strict=True):
        assert_close(logits, expected)
    trees[1].adopt([0, 2, 3])
    assert behind.tokens == [*texts[1], 1, 3, 4]
    assert_close(behind.extend(TEXT[:5], 5), fresh(runner, [*texts[1], 1, 3, 4, *TEXT[:5]], 5))


def test_a_text_past_the_context_is_refused_in_a_sentence(runner: ModelRunner) -> None:
    runner.extend([1] * runner.context)
    for refused in (lambda: runner.extend([1]), lambda: Chains(runner, [runner.context]).extend([1])):
        with pytest.raises(BadPrompt, match="the model holds"):
            refused()
    assert len(runner.tokens) == runner.context


MOVES = st.one_of(
    st.tuples(st.just("extend"), st.lists(st.integers(0, 96), min_size=1, max_size=6)),
    st.tuples(st.just("rewind"), st.floats(0, 1)),
    st.tuples(st.just("branch"), st.lists(st.floats(0, 1), min_size=1, max_size=4), st.integers(0, 3), st.booleans()),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(MOVES, min_size=1, max_size=8))
def test_any_sequence_of_moves_ends_where_a_fresh_runner_is(runner: ModelRunner, moves: list[Any]) -> None:
    runner.rewind(0)
    runner.extend(TEXT[:4])
    text = TEXT[:4]
    for kind, what, *how in moves:
        if kind == "extend":
            runner.extend(what)
            text = [*text, *what]
        elif kind == "rewind":
            text = text[: round(what * len(text))]
            runner.rewind(len(text))
        else:
            text = branch_out(runner, text, [round(share * len(text)) for share in what], *how)
        assert runner.tokens == text
    got = runner.extend([7, 8], 2).clone()
    assert_close(got, fresh(runner, [*text, 7, 8], 2))


def branch_out(runner: ModelRunner, text: list[int], lengths: list[int], depth: int, is_adopted: bool) -> list[int]:
    branches, depth = Chains(runner, lengths), max(depth, is_adopted)
    for step in range(depth):
        branches.extend([(step + row) % 97 for row in range(len(lengths))])
    if not is_adopted:
        return text
    branches.adopt(len(lengths) - 1)
    return [*text[: lengths[-1]], *((step + len(lengths) - 1) % 97 for step in range(depth))]
