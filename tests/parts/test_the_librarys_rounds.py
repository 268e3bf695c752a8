"""Assisted generation of transformers as a contestant: its rounds add up to its text, which is our own decoder's."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.transformers import Transformers
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose, parse_choices
from decoding.core.ending import Ending
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.models.checkpoints import load
from decoding.trace.events import Drafted, Finished, Recorder, Started, Verified
from tests.kit import models
from tests.kit.worlds import World

pytestmark = pytest.mark.slow
PROMPT = [5, 17, 3, 60]
GREEDY = Sampling(max_new_tokens=40)
THEIRS = "autoregressive,assisted:4,threshold=0.0,assisted:3,schedule=heuristic,transformers-lookup:3,ngram=1"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> ModelPair:
    """A target, and a draft that resembles it: the same weights, perturbed."""
    root = tmp_path_factory.mktemp("pair")
    target, draft = (models.save(root / role, "llama", seed=1, **models.LLAMA) for role in ("target", "draft"))
    dice = torch.Generator().manual_seed(2)
    weights = load_file(draft / "model.safetensors")
    shaken = {name: w + 0.03 * torch.randn(w.shape, generator=dice) for name, w in weights.items()}
    save_file(shaken, draft / "model.safetensors", {"format": "pt"})
    own, other = (load(folder, dtype="float32") for folder in (target, draft))
    return ModelPair(own.runner, other.runner, own.tokenizer, frozenset(), torch.float32, target, draft)


@pytest.mark.parametrize("choice", parse_choices(THEIRS), ids=lambda choice: choice.label)
def test_the_librarys_rounds_add_up_to_its_text_which_is_ours(pair: ModelPair, choice: Choice) -> None:
    recorder, request = Recorder(), Request(choice, PROMPT, GREEDY, 0, Ending(()))
    [(_, decoded)] = Transformers(pair).run([request], lambda _: recorder, never)
    started, *_, finished = recorder.events
    assert isinstance(started, Started) and isinstance(finished, Finished)
    assert (started.prompt_tokens, finished.new_tokens) == (len(PROMPT), 40)
    drafts = {e.round: e for e in recorder.events if isinstance(e, Drafted)}
    text: list[int] = []
    for event in recorder.events:
        if isinstance(event, Verified):
            if event.round in drafts:
                assert drafts[event.round].position == len(PROMPT) + len(text)
                text += drafts[event.round].tokens[: event.accepted]
            text.append(event.token)
    assert pair.draft and text == decoded.tokens
    assert text == World(pair.target, pair.draft).run(choose("autoregressive"), PROMPT, GREEDY)[0].tokens
