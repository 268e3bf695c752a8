"""The promise of every strategy, where one case says more than those that `tests/laws` draws."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.errors import BrokenModel
from decoding.models.runner import rewind_to
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables

GREEDY = Sampling(max_new_tokens=40)
SHARED = Sampling(temperature=1.0, dice="shared", max_new_tokens=40)
RATIO = Sampling(temperature=1.0, dice="ratio", max_new_tokens=40)


def own_text(table: torch.Tensor, prompt: Sequence[int], count: int) -> list[int]:
    text = list(prompt)
    for _ in range(count):
        text.append(int(table[state_of(text)].argmax()))
    return text[len(prompt) :]


def test_models_that_differ_by_padding_share_the_unpadded_part() -> None:
    target, _ = tables(12, 7)
    world = World.of_tables(12, 7)
    world.target = TableRunner(torch.nn.functional.pad(target, (0, 4), value=50.0), state_of=state_of)
    decoded, _ = world.run(choose("static"), [3, 1], GREEDY)
    assert decoded.tokens == own_text(target, [3, 1], 40)


@pytest.mark.parametrize("model", ["target", "draft"])
@pytest.mark.parametrize("sampling", [GREEDY, RATIO], ids=lambda s: s.dice)
def test_a_model_that_answers_with_nan_is_refused_in_words(model: str, sampling: Sampling) -> None:
    world = World.of_tables(12, 7)
    setattr(world, model, TableRunner(torch.full((12, 12), torch.nan, dtype=torch.float64)))
    with pytest.raises(BrokenModel, match="NaN"):
        world.run(choose("static"), [3, 1], sampling)


def test_rewind_to_compares_tokens_not_lengths() -> None:
    """A runner that sat out a round can hold a text of the right length that is not ours."""
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3, 4])
    assert list(rewind_to(world.draft, [1, 2, 9, 4, 5])) == [9, 4, 5]
    assert world.draft.tokens == [1, 2]


def test_rewind_to_feeds_again_what_logits_are_needed_of() -> None:
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3])
    assert list(rewind_to(world.draft, [1, 2, 3], need=2)) == [2, 3]
