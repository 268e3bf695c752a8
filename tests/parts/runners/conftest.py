"""The runners under the contract suite. To add one: one line in `MAKERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from decoding.models.checkpoints import load
from decoding.models.runner import ModelRunner
from decoding.vocabularies.shared import shared
from decoding.vocabularies.spelling import Coder, Spelling
from decoding.vocabularies.translated import TranslatedModel, TranslatedRunner, Translation
from tests.kit.models import LLAMA, OTHERS, fast_runner, save
from tests.kit.table import TableRunner, hashed

Maker = Callable[[Path], ModelRunner]


def _table() -> ModelRunner:
    scores = torch.randn(11, 97, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return TableRunner(scores, context=128, state_of=hashed(11))


def _by_transformers(folder: Path, model_type: str) -> ModelRunner:
    return load(save(folder, model_type, **OTHERS[model_type]), context=128).runner


def _translated(inner: ModelRunner) -> ModelRunner:
    """Turn ids around, so that no token has the same id in both vocabularies."""
    target, draft = (
        Spelling({n: chr(97 + at).encode() for n, at in ids}, {}, frozenset())
        for ids in ([(n, n) for n in range(97)], [(96 - n, n) for n in range(97)])
    )
    translation = Translation(shared(target, draft), Coder(draft, lambda text: []), 97)
    return TranslatedRunner(inner, TranslatedModel(inner.model, translation))


MAKERS: dict[str, Maker] = {
    "table of whole texts": lambda folder: _table(),
    "fast llama": lambda folder: fast_runner(save(folder, "llama", **LLAMA)),
    "fast llama, static": lambda folder: fast_runner(save(folder, "llama", **LLAMA), static=True),
    "transformers gemma2": lambda folder: _by_transformers(folder, "gemma2"),
    "translated fast llama": lambda folder: _translated(fast_runner(save(folder, "llama", **LLAMA))),
    "transformers mamba": lambda folder: _by_transformers(folder, "mamba"),
}


@pytest.fixture(scope="session", params=list(MAKERS))
def shared_runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModelRunner:
    return MAKERS[request.param](tmp_path_factory.mktemp("model"))


@pytest.fixture
def runner(shared_runner: ModelRunner) -> ModelRunner:
    shared_runner.rewind(0)
    return shared_runner
