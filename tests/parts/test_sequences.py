"""The loop steps a set of sequences, and no sequence notices the others."""

from __future__ import annotations

import pytest
import torch

from decoding.choice import Choice, choose
from decoding.core.loop import decode_all
from decoding.core.sequence import Sequence
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt
from decoding.trace.events import Finished, Recorder
from tests.kit.worlds import World

SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=24),
    "shared": Sampling(temperature=0.9, dice="shared", max_new_tokens=24, repetition_penalty=1.2),
    "ratio": Sampling(temperature=0.9, dice="ratio", max_new_tokens=24),
}
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
        made(world, choose("static"), SAMPLINGS["greedy"], 0)
    assert not world.target.tokens
