"""The promises of test_strategies.py on transformers: our own decoder and the library's, and the peer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.transformers import Transformers
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose, parse_choices
from decoding.core.ending import Decoded, Ending
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.models.checkpoints import load
from decoding.trace.events import Drafted, Finished, Recorder, Started, Verified
from tests.kit import models
from tests.kit.worlds import World

pytestmark = pytest.mark.slow
PROMPT = [5, 17, 3, 60]
GREEDY = Sampling(max_new_tokens=40)
SHARED = Sampling(temperature=0.8, dice="shared", max_new_tokens=40, repetition_penalty=1.1)
OURS = "static:6,threshold:0.4,disco,tree,ssd:4,branches=12,backup=neural"  # one for each way to draft
FAMILIES = {"llama": models.LLAMA, "gpt2": models.GPT2}


@pytest.fixture(scope="module", params=FAMILIES)
def folders(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A target, and a draft that resembles it: the same weights, perturbed."""
    root = tmp_path_factory.mktemp(request.param)
    target = models.save(root / "target", request.param, seed=1, **FAMILIES[request.param])
    draft = models.save(root / "draft", request.param, seed=1, **FAMILIES[request.param])
    weights = load_file(draft / "model.safetensors")
    dice = torch.Generator().manual_seed(2)
    shaken = {name: w + 0.03 * torch.randn(w.shape, generator=dice) for name, w in weights.items()}
    save_file(shaken, draft / "model.safetensors", {"format": "pt"})
    return target, draft


@pytest.fixture(scope="module")
def world(folders: tuple[Path, Path]) -> World:
    """A llama on our own decoder, and a GPT-2 on the library's."""
    target, draft = (load(folder, dtype="float32").runner for folder in folders)
    return World(target, draft)


def label(choice: Choice) -> str:
    return choice.label


@pytest.mark.parametrize("choice", parse_choices(OURS), ids=label)
def test_every_strategy_gives_the_text_that_the_target_gives_alone(world: World, choice: Choice) -> None:
    alone, _ = world.run(choose("autoregressive"), PROMPT, SHARED, seed=3)
    decoded, recorder = world.run(choice, PROMPT, SHARED, seed=3)
    assert decoded == alone
    assert any(isinstance(e, Verified) and e.accepted for e in recorder.events)  # the draft is good for something
    assert any(isinstance(e, Verified) and e.outcome == "correction" for e in recorder.events)  # and not for everything


def by_the_library(folders: tuple[Path, Path], choice: Choice, recorder: Recorder | None = None) -> Decoded:
    target, draft = (load(folder, dtype="float32") for folder in folders)
    pair = ModelPair(target.runner, draft.runner, target.tokenizer, frozenset(), torch.float32, *folders)
    request = Request(choice, PROMPT, GREEDY, 0, Ending(()))
    [(_, decoded)] = Transformers(pair).run([request], lambda _: recorder or Recorder(), never)
    return decoded


def test_autoregressive_text_is_that_of_generate(world: World, folders: tuple[Path, Path]) -> None:
    theirs = by_the_library(folders, choose("autoregressive"))
    assert world.run(choose("autoregressive"), PROMPT, GREEDY)[0].tokens == theirs.tokens


THEIRS = "assisted:4,threshold=0.0,assisted:3,schedule=heuristic,transformers-lookup:10,transformers-lookup:3,ngram=1"


@pytest.mark.parametrize("choice", parse_choices(THEIRS), ids=label)
def test_the_librarys_rounds_add_up_to_its_text(folders: tuple[Path, Path], choice: Choice) -> None:
    recorder = Recorder()
    decoded = by_the_library(folders, choice, recorder)
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
    assert text == decoded.tokens
    assert decoded.tokens == by_the_library(folders, choose("autoregressive")).tokens
