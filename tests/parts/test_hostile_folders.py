"""A malicious model folder is refused in a sentence, before anything is built from it."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.backends.pair import ModelPair
from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.errors import BadCheckpoint, BadPrompt
from decoding.measure.comparison import Measurement
from decoding.models.checkpoints import load
from decoding.models.folder import inspect
from decoding.models.tokenizer_files import read_tokenizer
from decoding.prompts.prompt import PromptItem
from decoding.vocabularies.fit import check_pair
from tests.kit.models import LLAMA, OTHERS, save
from tests.kit.pairs import sentences


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved"), "llama", **LLAMA)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def edit(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_hidden_layers", -1),
        ("hidden_size", 2**40),
        ("rope_theta", 0),
    ],
)
def test_a_number_that_no_model_has_is_refused_by_its_name(folder: Path, name: str, value: object) -> None:
    edit(folder / "config.json", **{name: value})
    with pytest.raises(BadCheckpoint, match=rf"config.json says {name} .* it must be a"):
        inspect(folder)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0},
        {"rope_type": "longrope", "short_factor": [1.0] * 100_000},
    ],
)
def test_a_rope_that_cannot_turn_is_refused(folder: Path, rope: dict[str, object]) -> None:
    edit(folder / "config.json", rope_parameters={"rope_theta": 10000.0} | rope)
    with pytest.raises(BadCheckpoint, match=r"config\.json.*Copy the file again"):
        inspect(folder)


def test_more_layers_than_tensors_are_refused_before_any_is_built(folder: Path) -> None:
    edit(folder / "config.json", num_hidden_layers=9_999)
    with pytest.raises(BadCheckpoint, match=r"num_hidden_layers 9,999, and the weights hold .* tensors"):
        inspect(folder)


def test_a_wider_model_than_its_widest_tensor_is_refused(folder: Path) -> None:
    edit(folder / "config.json", model_type="mixtral", architectures=["MixtralForCausalLM"], hidden_size=2**19)
    with pytest.raises(BadCheckpoint, match="hidden_size 524,288, and no tensor of the weights is wider"):
        inspect(folder)


def test_a_config_of_more_experts_than_the_weights_hold_is_refused_before_memory_is_taken(folder: Path) -> None:
    edit(
        folder / "config.json", model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=2_000,
        intermediate_size=4_000,
    )  # fmt: skip
    with pytest.raises(BadCheckpoint, match=r"describes a model of .* parameters, and its weights hold"):
        load(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model_type": "llama", "x": 1e999}', "too large a number"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "the key 'model_type' is there twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"x": "' + "x" * 2**20 + '"}', "larger than 1,048,576 bytes"),
    ],
)
def test_a_config_that_parsers_disagree_on_is_refused(folder: Path, text: str, says: str) -> None:
    (folder / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadCheckpoint, match=says):
        inspect(folder)


def test_what_is_no_file_is_never_waited_for(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    os.mkfifo(folder / "tokenizer_config.json")
    with pytest.raises(BadCheckpoint, match="is not a regular file"):
        inspect(folder)


def weights(folder: Path, header: dict[str, Any] | bytes, count: int) -> None:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(count))


def entry(start: int, end: int, shape: list[Any], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("header", "count"),
    [
        ({"a": entry(0, 64, [16]), "b": entry(32, 96, [16])}, 96),
        ({"a": entry(0, 64, [2**31, 2**31])}, 64),
        (b"[" * 100_000, 0),
    ],
    ids=["overlap", "huge", "deep"],
)
def test_a_header_that_lies_is_refused(folder: Path, header: dict[str, Any] | bytes, count: int) -> None:
    weights(folder, header, count)
    with pytest.raises(BadCheckpoint, match=r"header .* cannot be read"):
        inspect(folder)


def test_an_index_that_names_what_is_no_file_here_is_refused(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "../x.safetensors"}}')
    with pytest.raises(BadCheckpoint, match="points outside the folder"):
        inspect(folder)


def test_an_end_token_that_is_no_id_is_refused(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [1, "x"]}')
    with pytest.raises(BadCheckpoint, match=r"names the end token .* which is not a token id"):
        inspect(folder)


def test_an_end_token_outside_the_vocabulary_ends_nothing_and_is_remarked(folder: Path, saved: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [3, 50256]}')
    assert inspect(folder).end_tokens == {3}
    assert any("end token 50256 is none of its 97 tokens" in said for said in sentences(check_pair(folder, saved)))


# Tokenizers -----------------------------------------------------------------------------------------------------------

REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
SPLIT = {"type": "Split", "pattern": {"Regex": "a" * 5_000}, "behavior": "Isolated", "invert": False}
PIECE = {"Sequence": {"id": "A", "type_id": 0}}
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a pattern that lengthens": ({"normalizer": REPLACE | {"pattern": {"Regex": "x*"}}}, "times as long"),
    "many steps": ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT] * 99}}, "more than 64 steps"),
    "a long pattern": ({"pre_tokenizer": SPLIT}, "more than 4,000 characters"),
    "a long template": ({"post_processor": {"type": "TemplateProcessing", "single": [PIECE] * 999}}, "999 pieces"),
    "many added tokens": ({"added_tokens": [{"id": 1, "content": "x"}] * 50_001}, "50,001 added tokens"),
}


@pytest.mark.parametrize("case", list(BROKEN))
def test_a_tokenizer_made_to_hurt_is_refused_before_a_library_builds_it(folder: Path, case: str) -> None:
    parts, says = BROKEN[case]
    edit(folder / "tokenizer.json", **parts)
    with pytest.raises(BadCheckpoint, match=f"tokenizer of .* cannot be loaded: .*{says}"):
        read_tokenizer(folder)
    with pytest.raises(BadCheckpoint, match=says):
        load(folder)


def test_more_lists_than_any_tokenizer_has_are_refused_unparsed(folder: Path) -> None:
    (folder / "special_tokens_map.json").write_text('{"x": [' + "[]," * 2_000_000 + "0]}")
    with pytest.raises(BadCheckpoint, match="lists and objects, more than 1,500,000"):
        inspect(folder)


def test_a_pattern_that_gives_up_on_a_text_is_told_in_a_sentence(folder: Path) -> None:
    pattern = {"type": "Split", "pattern": {"Regex": "(a|a|aa)+$"}, "behavior": "Isolated", "invert": False}
    edit(folder / "tokenizer.json", pre_tokenizer=pattern)
    with pytest.raises(BadPrompt, match=r"The tokenizer cannot read this text: .*\.$"):
        load(folder).tokenizer.encode("a" * 2000 + "b")


# What transformers runs -----------------------------------------------------------------------------------------------


def test_weights_that_transformers_would_make_up_are_refused_by_name(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", "phi", **OTHERS["phi"])
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.fc1.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadCheckpoint, match=r"lacks 1 of the tensors .* model\.layers\.1\.mlp\.fc1\.weight first"):
        load(folder)


SMALL = {
    "vocab_size": 97, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 128, "pad_token_id": 0, "eos_token_id": 0, "bos_token_id": 0,
}  # fmt: skip
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 6, "long_factor": [3.0] * 6}


def test_a_rope_that_changes_with_the_length_ends_the_context_where_it_does(tmp_path: Path) -> None:
    folder = save(
        tmp_path / "target", "phi3", **SMALL, rope_parameters=LONGROPE | {"original_max_position_embeddings": 40},
        original_max_position_embeddings=40,
    )  # fmt: skip
    draft = save(tmp_path / "draft", "llama", seed=1, **SMALL)
    target, other = load(folder), load(draft)
    assert (target.folder.made_for, target.runner.context) == (128, 40)
    assert any("The pair holds 40 tokens: past 40" in said for said in sentences(check_pair(folder, draft)))

    pair = ModelPair(target.runner, other.runner, target.tokenizer, frozenset(), torch.float32)
    sampling = Sampling(max_new_tokens=100, ignore_eos=True)
    choices = parse_choices("autoregressive,static:4")
    samples = Measurement(pair, [PromptItem("a", "w1 w6 w3")], choices, sampling, 1).run()
    assert len({sample.tokens for sample in samples}) == 1 and len(samples[0].tokens) == 37
