"""The fast decoder against transformers, in float32, on checkpoints saved and loaded as a user's files are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from decoding.models.checkpoints import load
from decoding.models.fast.shape import shape_of
from tests.kit.chains import Chains
from tests.kit.models import LLAMA, LLAMA3, YARN, fast_runner, save

WIDE = LLAMA | {"head_dim": 32}  # enough pairs for yarn's ramp to be one; each width is compiled anew
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", LLAMA),
    "llama, every head its own keys, rope linear": (
        "llama",
        LLAMA
        | {"num_key_value_heads": 6}
        | {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e3}},
    ),
    "llama, biases, rope dynamic": (
        "llama",
        LLAMA
        | {"attention_bias": True, "mlp_bias": True}
        | {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}},
    ),
    "llama, rope yarn": ("llama", WIDE | {"rope_parameters": YARN}),
    "mistral": ("mistral", LLAMA),
    "qwen2, tied": ("qwen2", LLAMA | {"tie_word_embeddings": True}),
    "qwen3, biases": ("qwen3", LLAMA | {"head_dim": 8, "attention_bias": True}),
}
TEXT = torch.randint(0, 97, (100,), generator=torch.Generator().manual_seed(2)).tolist()


class Reference:
    def __init__(self, folder: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    @torch.inference_mode()
    def __call__(self, text: Sequence[int], need: int) -> Tensor:
        logits: Tensor = self.model(torch.tensor([list(text)])).logits[0, -need:]
        return logits


def assert_same(got: Tensor, want: Tensor) -> None:
    assert got.shape == want.shape
    assert (got - want).abs().max() <= 1e-4


@pytest.mark.parametrize("case", list(CASES))
def test_a_family_gives_the_logits_of_transformers(tmp_path: Path, case: str) -> None:
    """A whole text, one token, several, some after a rewind, and the rows of a tree of which one path is adopted."""
    model_type, config = CASES[case]
    folder = save(tmp_path, model_type, **config)
    runner, reference = fast_runner(folder, dtype="float32"), Reference(folder)
    whole = reference(TEXT, 100)
    assert_same(runner.extend(TEXT, 100), whole)
    runner.rewind(30)
    got = [runner.extend(TEXT[30:31]), runner.extend(TEXT[31:38], 7)]
    runner.rewind(34)
    got.append(runner.extend(TEXT[34:40], 1))
    assert_same(torch.cat(got), torch.cat((whole[30:38], whole[39:40])))
    lengths, steps = (40, 40, 37, 22, 39, 8), [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], [13, 14, 15, 16, 17, 18]]
    branches = Chains(runner, lengths)
    rows = torch.stack([branches.extend(step) for step in steps], 1)
    for row, length in enumerate(lengths):
        assert_same(rows[row], reference([*TEXT[:length], *(step[row] for step in steps)], 3))
    branches.adopt(3)
    text = [*TEXT[:22], *(step[3] for step in steps), 5, 6]
    assert_same(runner.extend([5, 6], 2), reference(text, 2))


def test_a_narrow_checkpoint_is_run_in_float32_exactly_and_in_bfloat16_nearly(tmp_path: Path) -> None:
    folder = save(tmp_path, "llama", dtype=torch.bfloat16, **LLAMA)
    want, runner = Reference(folder)(TEXT, 100), fast_runner(folder, dtype="bfloat16")
    assert_same(fast_runner(folder, dtype="float32").extend(TEXT, 100), want)
    assert runner.facts.dtype == "bfloat16"
    assert (runner.extend(TEXT, 100) - want).abs().mean() <= 0.02 * want.abs().max()


def test_shards_are_read_through_their_index(tmp_path: Path) -> None:
    folder = save(tmp_path, "llama", shard="20KB", **LLAMA)
    assert len(list(folder.glob("model-*.safetensors"))) > 3
    assert_same(load(folder).runner.extend(TEXT, 9), Reference(folder)(TEXT, 9))


def test_a_parent_before_the_text_is_refused(tmp_path: Path) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA))
    runner.extend([1, 2, 3])
    with pytest.raises(ValueError, match="before the text"):
        runner.grow().extend([1], [-5])


def test_a_prompt_longer_than_one_pass(tmp_path: Path) -> None:
    folder = save(tmp_path, "llama", **LLAMA | {"max_position_embeddings": 1300})
    text = torch.randint(0, 97, (1200,), generator=torch.Generator().manual_seed(2)).tolist()
    assert_same(fast_runner(folder).extend(text, 600), Reference(folder)(text, 600))


OLD_SPELLINGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "theta": ("llama", "rope_parameters", {"rope_theta": 5000.0}),
    "llama3": (
        "llama",
        "rope_parameters",
        {"rope_theta": 500000.0, "rope_scaling": LLAMA3 | {"original_max_position_embeddings": 32}},
    ),
}


@pytest.mark.parametrize("spelling", list(OLD_SPELLINGS))
def test_ropes_as_older_config_files_spell_them(tmp_path: Path, spelling: str) -> None:
    case, newer, older = OLD_SPELLINGS[spelling]
    model_type, config = CASES[case]
    folder = save(tmp_path, model_type, **config)
    file = folder / "config.json"
    spelled = json.loads(file.read_text())
    del spelled[newer]
    file.write_text(json.dumps(spelled | older))
    assert_same(fast_runner(folder).extend(TEXT, 100), Reference(folder)(TEXT, 100))


def test_what_our_decoder_does_not_do_exactly_is_left_to_transformers() -> None:
    """Layers that look back less than a text may be long, another activation, another family."""
    for family, settings, is_ours in (
        ("mistral", {"sliding_window": 127}, False),
        ("mistral", {"sliding_window": 128}, True),
        ("mistral", {"sliding_window": None}, True),
        ("mistral", {"max_position_embeddings": 4097}, False),  # 4,096 where a file says nothing
        ("qwen2", {"sliding_window": 7, "use_sliding_window": True}, False),
        ("qwen3", {"sliding_window": 7, "use_sliding_window": False}, True),
        ("llama", {"hidden_act": "gelu"}, False),
        ("gpt2", {}, False),
    ):
        assert (shape_of(LLAMA | {"model_type": family} | settings) is not None) == is_ours
