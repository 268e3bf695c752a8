"""The promise of every strategy, where one case says more than those that `tests/laws` draws."""

from __future__ import annotations

from collections import abc

import pytest
import torch

from decoding.choice import Choice, choose
from decoding.core.loop import decode_all
from decoding.core.sequence import Sequence
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt
from decoding.models.runner import rewind_to
from decoding.trace.events import Finished, Recorder
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables

GREEDY = Sampling(max_new_tokens=40)


def own_text(table: torch.Tensor, prompt: abc.Sequence[int], count: int) -> list[int]:
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


PROMPTS = ([3, 1], [5, 9, 2, 2], [7])
ENDS = frozenset({4})  # some texts end long before the others


def made(world: World, choice: Choice, sampling: Sampling, number: int) -> Sequence:
    """One sequence on the world's models, with caches of its own."""
    own = World(world.target.model.new_runner(), world.draft.model.new_runner(), ENDS)
    return own.sequence(choice, PROMPTS[number], sampling, number, None, Recorder())


@torch.inference_mode()
def test_cancelling_ends_every_text_that_still_grows() -> None:
    world = World.of_tables(12, 7)
    short, long = (made(world, choose("autoregressive"), Sampling(max_new_tokens=count), 0) for count in (1, 30))
    decode_all([short, long], cancelled=lambda: short.reason is not None)
    assert (short.reason, long.reason) == ("length", "cancelled")
    for sequence in (short, long):
        assert isinstance(sequence.sink, Recorder) and isinstance(sequence.sink.events[-1], Finished)


def test_a_prompt_without_room_is_refused_before_anything_is_read() -> None:
    world = World.of_tables(12, 7, context=2)
    with pytest.raises(BadPrompt, match="2 tokens and the target holds 2"):
        made(world, choose("static"), GREEDY, 0)
    assert not world.target.tokens
