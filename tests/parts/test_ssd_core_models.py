"""After a branch has won, the draft model's cache is as if the model had read the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch

from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.models.checkpoints import load
from decoding.models.runner import ModelRunner
from decoding.ssd.transport.messages import SpeculatorRecipe
from tests.kit.models import GPT2, LLAMA, fast_runner, save
from tests.kit.runners import Watched
from tests.kit.worlds import Solo

MAKERS: dict[str, Callable[[Path], ModelRunner]] = {
    "fast llama": lambda folder: fast_runner(save(folder, "llama", **LLAMA)),
    "fast mistral, window 9": lambda folder: fast_runner(save(folder, "mistral", sliding_window=9, **LLAMA)),
    "fast gpt2, static": lambda folder: fast_runner(save(folder, "gpt2", **GPT2), static=True),
    "transformers llama": lambda folder: load(save(folder, "llama", **LLAMA), runner="transformers").runner,
}


@pytest.fixture(scope="module", params=MAKERS)
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModelRunner:
    return MAKERS[request.param](tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@torch.inference_mode()
def test_the_winners_cache_is_that_of_a_fresh_run(runner: ModelRunner, temperature: float) -> None:
    sampling = Sampling(temperature=temperature)
    settings = SpeculatorSettings(lookahead=3, branches=10, fanout="uniform", backup="neural")
    watched = Watched(runner)
    draws = Solo(cast(ModelRunner, watched), SpeculatorRecipe(settings, sampling, 97, 1, ()))
    text = [5, 17, 3, 60]
    drafted = draws.begin(text, 90).tokens
    for number in range(8):
        while draws.step():
            pass
        branches = draws.preparation().branches
        accepted, token, depth = branches[(3 * number) % len(branches)]
        assert depth == 3
        text += [*drafted[:accepted], token]
        draft = draws.answer(accepted, token, 90)
        assert draft.source == "hit" and draft.passes == 0
        drafted = draft.tokens
        watched.fed.clear()
        assert draws.step() and watched.fed == [1]  # commits by copy; reads the draft's last token, and no other
        assert runner.tokens == [*text, *drafted]
        # One more token, read on what was copied and on a cache that was read whole. Reading closes the branches.
        copied = runner.extend([7]).clone()
        runner.rewind(0)
        torch.testing.assert_close(copied, runner.extend([*text, *drafted, 7]), atol=1e-4, rtol=1e-5)
        drafted = draws.answer(0, (drafted[0] + 1) % 97, 90).tokens
        text.append((draft.tokens[0] + 1) % 97)
