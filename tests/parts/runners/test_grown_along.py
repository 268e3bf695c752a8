"""Trees along a recorded text: each is the one that a live run grows there, whichever runner reads it."""

from __future__ import annotations

import pytest
import torch

from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.driver import DraftDriver
from decoding.drafting.grown_along import grown_along
from decoding.drafting.source import View
from decoding.drafting.tree_shapes import LikeliestPaths
from decoding.models.runner import ModelRunner, read_prompt, run_one

TEXT = torch.randint(0, 97, (60,), generator=torch.Generator().manual_seed(5)).tolist()
PATHS = LikeliestPaths(depth=3, width=2)
SHARED = Sampling(temperature=0.8, dice="shared", repetition_penalty=1.2)
ENDS = frozenset(TEXT[:20])  # so many that some paths end


@pytest.mark.parametrize("before", [1, 110], ids=["after one token", "to the end of the context"])
@torch.inference_mode()
def test_each_tree_is_the_one_that_a_live_run_grows_there(runner: ModelRunner, before: int) -> None:
    whole = [*TEXT, *reversed(TEXT), *TEXT][: before + 18]
    prompt, text = whole[:before], whole[before:]
    read_prompt(runner, prompt)
    dice = dice_for(SHARED, runner.vocab_size, 3)
    dice.commit(prompt)
    grown = grown_along(runner, dice, prompt, text, PATHS, ENDS)
    live = dice_for(SHARED, runner.vocab_size, 3)
    drafter = DraftDriver(PATHS, View(ends=ENDS), live, runner)
    for place, shape in enumerate(grown):
        live.commit(whole[before + place - 1 : before + place] if place else prompt)
        draft = run_one(drafter.draft_steps(whole[: before + place], 20))
        assert (len(shape), shape.parents) == (len(draft.tokens), draft.parents)
    assert len(grown) == len(text) and max(map(len, grown)) == 6
    assert before == 1 or [shape.depth for shape in grown[-3:]] == [3, 2, 1]
