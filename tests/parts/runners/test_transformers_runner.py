"""Families that only transformers runs: loaded from a folder, wound back, branched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.models.checkpoints import load
from decoding.models.transformers import TransformersRunner
from tests.kit.models import LLAMA, OTHERS, save

TEXT = torch.randint(0, 97, (40,), generator=torch.Generator().manual_seed(2)).tolist()


@pytest.mark.parametrize("model_type", list(OTHERS))
def test_a_family_that_only_transformers_runs(tmp_path: Path, model_type: str) -> None:
    folder = save(tmp_path, model_type, **OTHERS[model_type])
    runner = load(folder).runner
    assert isinstance(runner, TransformersRunner)
    assert runner.model.rereads is (model_type == "mamba")
    want = runner.extend([*TEXT[:33], 5, 6]).clone()
    runner.rewind(0)
    runner.extend(TEXT[:38])
    runner.rewind(33)
    torch.testing.assert_close(runner.extend([5, 6]), want, atol=1e-4, rtol=1e-4)


def test_what_the_fast_decoder_does_not_do_exactly_goes_to_transformers(tmp_path: Path) -> None:
    odd = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    rope = odd | {"original_max_position_embeddings": 64}
    assert load(save(tmp_path, "llama", **LLAMA | {"rope_parameters": rope})).folder.runner == "transformers"
