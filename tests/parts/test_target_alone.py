"""A target without a draft is a pair too: what needs no draft runs on it, and the rest is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.backends import without_draft
from decoding.backends.pair import ModelPair
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.errors import BadPair, BadStrategy
from decoding.measure.comparison import Measurement
from decoding.models.checkpoints import load
from decoding.prompts.prompt import PromptItem
from decoding.training.making import make_classifier
from decoding.training.splits import Splits
from tests.kit.models import LLAMA, save
from tests.kit.worlds import some_classifier

PROMPTS = [
    PromptItem(f"p{n}", f"w{n} w{n + 9} w3", split=split) for n, split in enumerate(("train", "validation", "test"))
]
SAMPLING = Sampling(max_new_tokens=12)
AUTOREGRESSIVE = choose("autoregressive")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("models")
    small = {**LLAMA, "num_hidden_layers": 1}
    return save(root / "target", "llama", **LLAMA), save(root / "draft", "llama", seed=1, **small)


@pytest.fixture
def target_alone(folders: tuple[Path, Path]) -> ModelPair:
    target = load(folders[0], dtype="float32")
    return ModelPair(target.runner, None, target.tokenizer, frozenset(), torch.float32, folders[0])


def test_a_strategy_that_needs_a_draft_is_refused_with_those_that_run(target_alone: ModelPair) -> None:
    choice = choose("static")
    with pytest.raises(BadStrategy) as told:
        target_alone.begin([AUTOREGRESSIVE, choice])
    assert str(told.value).startswith(f"{choice.label} needs a draft model, and this pair has none. Without a draft,")
    assert all(slug in str(told.value) for slug in without_draft.runnable())


def test_what_records_a_draft_is_refused(target_alone: ModelPair) -> None:
    with pytest.raises(
        BadPair, match=r"design ours needs a draft model, and this pair has none\. Take the design sources"
    ):
        make_classifier(target_alone, Splits.of(PROMPTS), SAMPLING)


def test_a_classifier_of_a_pair_judges_copies_on_its_target_alone(target_alone: ModelPair, tmp_path: Path) -> None:
    made = some_classifier()
    made.card.update(pair=["the target's fingerprint", "a draft's"], features=features.NAMES)
    made.save(tmp_path / "disco")
    target_alone.classifier_at = lambda name: tmp_path / "disco"
    choices = [
        AUTOREGRESSIVE,
        *parse_choices("lookup:20,threshold=0.05,classifier=newest,suffix:0.05,classifier=newest"),
    ]
    samples = Measurement(target_alone, PROMPTS, choices, SAMPLING).run()
    assert len(samples) == 3 * len(PROMPTS)
    assert len({(sample.prompt, sample.text) for sample in samples}) == len(PROMPTS)
