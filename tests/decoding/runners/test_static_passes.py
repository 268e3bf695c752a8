"""The GPU's layout of passes: without a GPU the same launches, uncaptured; with one, captured and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.models.fast.passes import StaticPasses, attend_at_once, attend_in_steps
from decoding.models.fast.runner import FastRunner
from decoding.models.runner import align
from tests.decoding.models import GPT2, LLAMA, fast_runner, save

LONG = LLAMA | {"max_position_embeddings": 700}
TEXT = torch.randint(0, 97, (650,), generator=torch.Generator().manual_seed(2)).tolist()
CASES = {
    "llama": LONG,
    "mistral": LONG | {"sliding_window": 300},
    "qwen3": LONG | {"head_dim": 16},
    "gpt2": GPT2 | {"n_positions": 700},
}


def walk(runner: FastRunner) -> torch.Tensor:
    """Take prompt, rounds of several rows, branches and adoption, across a change of buckets."""
    got = [runner.extend(TEXT[:240], 3)]
    for start in range(240, 600, 8):
        got += [runner.extend(TEXT[start : start + 1]), runner.extend(TEXT[start + 1 : start + 8], 7)]
        runner.rewind(start + 5)
        branches = runner.fork([start + 5, start + 2])
        got += [branches.extend([1, 2]), branches.extend([3, 4])]
        branches.adopt(1)
        got.append(runner.extend(align(runner, TEXT[: start + 8])))
    return torch.cat(got)


@pytest.mark.parametrize("model_type", list(CASES))
def test_static_passes_are_the_sliced_ones(tmp_path: Path, model_type: str) -> None:
    folder = save(tmp_path, model_type, **CASES[model_type])
    torch.testing.assert_close(walk(fast_runner(folder, static=True)), walk(fast_runner(folder)), atol=1e-4, rtol=1e-5)


def test_both_ways_of_attending_are_one() -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 6, 8), torch.randn(2, 64, 8), torch.randn(2, 64, 8)
    mask = torch.zeros(6, 64).masked_fill_(torch.rand(6, 64) < 0.5, float("-inf"))
    torch.testing.assert_close(
        attend_at_once(queries, keys, values, mask), attend_in_steps(queries, keys, values, mask)
    )


def test_storage_that_had_to_grow_is_the_one_that_is_read(tmp_path: Path) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    plain = fast_runner(tmp_path)
    for each in (runner, plain):
        each.extend(TEXT[:100])
    both = [each.fork([100] * 40) for each in (runner, plain)]
    for step in range(12):
        got, want = (branches.extend([step] * 40) for branches in both)
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("model_type", list(CASES))
def test_captured_passes_are_those_of_the_cpu(tmp_path: Path, model_type: str) -> None:
    folder = save(tmp_path, model_type, **CASES[model_type])
    runner = fast_runner(folder, device=torch.device("cuda:0"), dtype="float32")
    got, want = walk(runner), walk(fast_runner(folder))
    assert isinstance(runner.passes, StaticPasses)
    torch.testing.assert_close(got.cpu(), want, atol=1e-3, rtol=1e-3)


@pytest.mark.gpu
def test_a_chain_of_ids_is_queued_without_a_stop(tmp_path: Path) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), device=torch.device("cuda:0"), dtype="float32")
    plain = fast_runner(tmp_path)

    def chain(each: FastRunner, logits: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            logits = each.extend(logits.argmax(-1))
        return logits

    for each in (runner, plain):
        logits = chain(each, each.extend(TEXT[:10]), 3)  # by then the form is captured
        torch.cuda.set_sync_debug_mode("error" if each is runner else "default")
        chain(each, logits, 20)
        torch.cuda.set_sync_debug_mode("default")
    assert runner.tokens == plain.tokens


@pytest.mark.gpu
def test_bfloat16_on_the_gpu_is_near(tmp_path: Path) -> None:
    folder = save(tmp_path, "llama", **LLAMA)
    got = fast_runner(folder, device=torch.device("cuda:0")).extend(TEXT[:100], 100).cpu()
    want = fast_runner(folder).extend(TEXT[:100], 100)
    assert (got - want).abs().mean() <= 0.03 * want.abs().max()
