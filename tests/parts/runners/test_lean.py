"""Passes with few rows: compiled kernels give the decoder's numbers, text by text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.models.fast.kv import HIDDEN, Rows
from decoding.models.fast.lean import CpuKernels
from decoding.models.fast.linear import Layout
from decoding.models.fast.runner import FastModel, FastRunner
from tests.kit.gguf_files import BLOCKS
from tests.kit.models import LLAMA, fast_runner, save

ROOT = Path(__file__).parents[3]
PROMPTS = ([3, 1, 4, 1, 5], [9], [2, 6, 5, 3, 5, 8, 9, 7])


def model_of(family: str, folder: Path) -> FastModel:
    return fast_runner(save(folder, family, **LLAMA)).model


def with_prompts(model: FastModel) -> list[FastRunner]:
    runners = [model.new_runner() for _ in PROMPTS]
    for runner, prompt in zip(runners, PROMPTS, strict=True):
        runner.extend(prompt)
    return runners


def together_and_alone(model: FastModel) -> list[tuple[Tensor, Tensor]]:
    fed = ([1, 7], [2], [int(token) for token in torch.arange(20) % 9])  # the last is a piece of a prompt
    alone, together = (list(zip(with_prompts(model), fed, strict=True)) for _ in range(2))
    expected = [runner.extend(tokens, len(tokens)) for runner, tokens in alone]
    found = model.extend_all([(runner, tokens, len(tokens)) for runner, tokens in together])
    return list(zip(found, expected, strict=True))


@pytest.fixture(params=[("llama", torch.bfloat16), ("qwen3", torch.float32)])
def in_tiles(request: pytest.FixtureRequest, tmp_path: Path) -> FastModel:
    """A model whose matrices all lie in tiles, of float16 or float32."""
    family, dtype = request.param
    folder = save(tmp_path, family, dtype=dtype, **LLAMA | BLOCKS | {"head_dim": 16})
    return fast_runner(folder, layout=Layout("tiled", torch.float32)).model


def test_one_call_gives_the_decoders_numbers(in_tiles: FastModel) -> None:
    runner, before = in_tiles.new_runner(), torch.get_num_threads()
    runner.extend([3, 1, 4])
    try:
        for threads, tokens in ((1, [1]), (2, [5, 9]), (2, [2]), (1, [7, 1, 8, 2] * 7), (3, [7, 1, 8, 2] * 7)):
            torch.set_num_threads(threads)
            given = torch.tensor([*runner.tokens, *tokens])
            rows = Rows(in_tiles.new_cache(), in_tiles.shape, 0, len(given))
            expected = in_tiles.decoder(given, rows, len(tokens))
            torch.testing.assert_close(runner.extend(tokens, len(tokens)), expected, atol=2e-5, rtol=1e-4)
    finally:
        torch.set_num_threads(before)


def test_one_call_gives_branches_and_trees_the_decoders_numbers(in_tiles: FastModel) -> None:
    runner = in_tiles.new_runner()
    runner.extend([3, 1, 4, 1, 5])
    hidden = torch.zeros(3 * in_tiles.shape.group, 8).masked_fill_(
        torch.rand(3 * in_tiles.shape.group, 8) < 0.3, HIDDEN
    )
    hidden[:, 0] = 0
    rows = Rows(runner.cache, in_tiles.shape, 5, 3, torch.tensor([5, 5, 6]), hidden)
    ids = torch.tensor([7, 2, 9])
    given = in_tiles.decoder.embedded(ids, rows)
    expected = in_tiles.decoder.layered(given[0].clone(), given[1], rows)
    kernels = CpuKernels(in_tiles.decoder)
    assert kernels.takes_whole([rows])
    torch.testing.assert_close(kernels.layered(*given, [rows]), expected, atol=2e-5, rtol=1e-4)


def test_one_call_gives_texts_together_the_very_numbers_of_each_alone(in_tiles: FastModel) -> None:
    warm, *_ = with_prompts(in_tiles)
    warm.extend([1])
    for found, expected in together_and_alone(in_tiles):
        assert torch.equal(found, expected)


def test_a_text_of_nan_leaves_the_others_alone(tmp_path: Path) -> None:
    model = model_of("llama", tmp_path)
    sick, well, _ = with_prompts(model)
    sick.cache.values.fill_(torch.nan)
    found = model.extend_all([(sick, [1], 1), (well, [2], 1)])
    assert found[0].isnan().all()
    assert found[1].isfinite().all()


def test_without_numba_torch_does_all(tmp_path: Path) -> None:
    save(tmp_path, "llama", **LLAMA)
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    runner = model_of("llama", tmp_path).new_runner()
    runner.extend([3, 1, 4])
    dice = dice_for(Sampling(temperature=0.7, repetition_penalty=1.2), runner.vocab_size, 1)
    dice.commit([3, 1, 4])
    assert said.stdout.split() == [str(int(dice.choose(runner.extend([token]), [[2]]).ids)) for token in (1, 5, 9)]


WITHOUT = """
import sys
sys.modules["numba"] = None
from pathlib import Path
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from tests.kit.models import fast_runner
runner = fast_runner(Path(sys.argv[1]))
runner.extend([3, 1, 4])
dice = dice_for(Sampling(temperature=0.7, repetition_penalty=1.2), runner.vocab_size, 1)
dice.commit([3, 1, 4])
for token in (1, 5, 9):
    print(int(dice.choose(runner.extend([token]), [[2]]).ids))
"""
