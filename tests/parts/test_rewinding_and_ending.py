"""Rewinding of runners to a text, and the ends of texts: stop strings and cancelled batches."""

from __future__ import annotations

import pytest
import torch

from decoding.choice import choose
from decoding.core.ending import Ending
from decoding.core.loop import decode_all
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt
from decoding.models.runner import rewind_to
from decoding.trace.events import Finished, Recorder
from tests.kit.worlds import World


def test_rewind_to_compares_tokens_not_lengths_and_feeds_again_what_logits_are_needed_of() -> None:
    """A runner that sat out a round can hold a text of the right length that is not ours."""
    runner = World.of_tables(12, 7).draft
    runner.extend([1, 2, 3, 4])
    assert list(rewind_to(runner, [1, 2, 9, 4, 5])) == [9, 4, 5]
    assert runner.tokens == [1, 2]
    assert list(rewind_to(runner, [1, 2], need=2)) == [1, 2]


@torch.inference_mode()
def test_cancelling_ends_every_text_that_still_grows() -> None:
    sinks = Recorder(), Recorder()
    short, long = (
        World.of_tables(12, 7).sequence(choose("autoregressive"), [3, 1], Sampling(max_new_tokens=count), 0, None, sink)
        for count, sink in zip((1, 30), sinks, strict=True)
    )
    decode_all([short, long], cancelled=lambda: short.reason is not None)
    assert (short.reason, long.reason) == ("length", "cancelled")
    assert all(isinstance(sink.events[-1], Finished) for sink in sinks)


def spell(tokens: list[int]) -> str:
    return "".join("abcdefgh"[token] for token in tokens)


def test_a_text_is_cut_before_a_stop_string_that_straddles_tokens_and_rounds() -> None:
    ending = Ending((), ("cde",), spell)  # type: ignore[arg-type]
    assert ending.find([0, 2, 3], fresh=1) is None
    assert ending.find([0, 2, 3, 4, 1], fresh=2) == (4, "stop")
    assert ending.text([0, 2, 3, 4]) == "a"


def test_a_prompt_without_room_is_refused() -> None:
    with pytest.raises(BadPrompt, match="2 tokens and the target holds 2"):
        World.of_tables(12, 7, context=2).run(choose("static"), [3, 1], Sampling())
