"""Families that only transformers runs: most have a cache that can be cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding.models.checkpoints import load
from decoding.models.transformers import TransformersRunner
from tests.kit.models import LLAMA, OTHERS, YARN, save


@pytest.mark.parametrize("model_type", ["falcon", "mamba"])
def test_a_family_that_only_transformers_runs(tmp_path: Path, model_type: str) -> None:
    runner = load(save(tmp_path, model_type, **OTHERS[model_type])).runner
    assert isinstance(runner, TransformersRunner)
    assert runner.model.rereads is (model_type == "mamba")


def test_what_the_fast_decoder_does_not_do_exactly_goes_to_transformers(tmp_path: Path) -> None:
    odd = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    for rope in (odd | {"original_max_position_embeddings": 64}, YARN | {"mscale": 0.7}, YARN | {"truncate": False}):
        assert load(save(tmp_path, "llama", **LLAMA | {"rope_parameters": rope})).folder.runner == "transformers"
