"""A model folder that cannot be used, or is made to hurt, is refused in a sentence before anything is built from it."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from decoding.backends.pair import ModelPair
from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.errors import BadCheckpoint, BadPrompt, OutOfMemory
from decoding.measure.measurement import Measurement
from decoding.models.checkpoints import context_that_fits, load, tokenizer_of
from decoding.models.folder import inspect
from decoding.models.tokenizer_files import read_tokenizer
from decoding.prompts.prompt import PromptItem
from decoding.vocabularies.fit import check_pair
from tests.kit.models import LLAMA, LLAMA3, OTHERS, edit, save
from tests.kit.pairs import sentences


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved"), "llama", dtype=torch.bfloat16, **LLAMA)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.mark.parametrize("named", ["LlamaTokenizer", None])
def test_a_tokenizer_has_the_class_that_the_library_would_choose(folder: Path, named: str | None) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": named} if named else {}))
    mine = tokenizer_of(inspect(folder)).inner
    theirs = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert type(mine) is type(theirs)
    assert mine.encode("w1 w22 w3") == theirs.encode("w1 w22 w3")


def test_end_tokens_are_those_of_the_generation_config(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [3, 5]}')
    assert inspect(folder).end_tokens == {3, 5}
    (folder / "generation_config.json").unlink()
    set_config(folder, eos_token_id=7)
    assert inspect(folder).end_tokens == {7}


def test_a_fingerprint_is_that_of_the_weights(folder: Path, tmp_path: Path) -> None:
    first = inspect(folder).fingerprint
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert inspect(elsewhere).fingerprint == first
    save(elsewhere, "llama", seed=1, dtype=torch.bfloat16, **LLAMA)
    assert inspect(elsewhere).fingerprint != first


def set_config(folder: Path, **values: object) -> None:
    edit(folder / "config.json", **values)


def torn(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def without_a_tensor(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, file)


def without_a_shard(folder: Path) -> None:
    save(folder, "llama", shard="20KB", **LLAMA)
    (folder / "model.safetensors").unlink(missing_ok=True)
    next(folder.glob("model-00002*")).unlink()


def as_adapter(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "config.json").rename(folder / "adapter_config.json")


def in_8_bits(folder: Path) -> None:
    file = folder / "model.safetensors"
    name = "model.layers.1.mlp.up_proj.weight"
    tensors = load_file(file)
    save_file(tensors | {name: tensors[name].to(torch.float8_e4m3fn)}, file)


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def with_header(header: dict[str, Any] | bytes, count: int) -> Callable[[Path], object]:
    """Write weights of this header and so many bytes."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = struct.pack("<Q", len(raw)) + raw + bytes(count)
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


def entry(start: int, end: int, shape: list[Any]) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}


MIXTRAL: dict[str, Any] = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer.json"),
    "unknown architecture": (
        lambda folder: set_config(folder, model_type="warp9"),
        r"cannot load .* it is a 'warp9'\. .*never code that comes with a model",
    ),
    "AWQ": (
        lambda folder: set_config(folder, quantization_config={"quant_method": "awq"}),
        r"quantised checkpoint \(awq\).*bf16 folder.*server",
    ),
    "FP8 without a word": (in_8_bits, r"quantised checkpoint \(FP8\)"),
    "LoRA": (as_adapter, "is an adapter .LoRA.*merge_and_unload"),
    "a draft head": (
        lambda folder: set_config(folder, architectures=["LlamaForCausalLMEagle3"]),
        "is a draft head.*Start its target with it as a server",
    ),
    "pickle": (
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        "pickle.*save_pretrained",
    ),
    "torn weights": (torn, "torn: its header describes"),
    "weights left behind by git": (
        written("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 17\n"),
        "git lfs pull",
    ),
    "missing tensor": (without_a_tensor, r"lacks 1 of .*layers\.1\.mlp\.up_proj\.weight"),
    "missing shard": (without_a_shard, r"lacks 1 of the .*model-00002"),
    "a count below one": (
        lambda folder: set_config(folder, num_hidden_layers=-1),
        "says num_hidden_layers -1; it must",
    ),
    "a rope that cannot turn": (
        lambda folder: set_config(folder, rope_parameters=LLAMA3 | {"high_freq_factor": 1.0}),
        "high_freq_factor must be larger",
    ),
    "a rope of many factors": (
        lambda folder: set_config(folder, rope_parameters={"short_factor": [1.0] * 100_000}),
        "says short_factor 'a list of 100,000'",
    ),
    "more layers than tensors": (
        lambda folder: set_config(folder, num_hidden_layers=9_999),
        "num_hidden_layers 9,999, and the weights hold .* tensors",
    ),
    "wider than its widest tensor": (
        lambda folder: set_config(folder, **MIXTRAL, hidden_size=2**19),
        "hidden_size 524,288, and no tensor of the weights is wider",
    ),
    "more experts than the weights hold": (
        lambda folder: set_config(folder, **MIXTRAL, num_local_experts=2_000, intermediate_size=4_000),
        "describes a model of .* parameters, and its weights hold",
    ),
    **{
        says: (lambda folder, text=text: (folder / "config.json").write_text(text), says)
        for text, says in (
            ('{"model_type": "llama", "x": 1e999}', "too large a number"),
            ('{"model_type": "llama", "model_type": "gpt2"}', "the key 'model_type' is there twice"),
            ("[" * 100_000, "nested too deeply"),
            ('{"x": "' + "x" * 2**20 + '"}', "larger than 1,048,576 bytes"),
        )
    },
    "a pipe": (lambda folder: os.mkfifo(folder / "added_tokens.json"), "is not a regular file"),
    "tensors that overlap": (
        with_header({"a": entry(0, 64, [16]), "b": entry(32, 96, [16])}, 96),
        "header .* cannot be read",
    ),
    "a deep header": (with_header(b"[" * 100_000, 0), "header .* cannot be read"),
    "an index that leads outside": (
        written("model.safetensors.index.json", '{"weight_map": {"x": "../x.safetensors"}}'),
        "points outside the folder",
    ),
    "an end token that is no id": (
        written("generation_config.json", '{"eos_token_id": [1, "x"]}'),
        "names the end token .* which is not a token id",
    ),
    "more lists than any tokenizer has": (
        written("special_tokens_map.json", '{"x": [' + "[]," * 2_000_000 + "0]}"),
        "lists and objects, more than 1,500,000",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_folder_is_refused_in_a_sentence(folder: Path, case: str) -> None:
    spoil, says = REFUSED[case]
    spoil(folder)
    with pytest.raises(BadCheckpoint, match=says) as refusal:
        load(folder)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_a_model_too_large_for_the_machine_is_refused_before_it_is_read(folder: Path) -> None:
    set_config(folder, max_position_embeddings=2**24)
    with pytest.raises(OutOfMemory, match=r"needs .* GiB .* has .* GiB free"):
        context_that_fits(inspect(folder), "auto", torch.device("cpu"), 2**24, free=2**30)
    assert 2**16 < (context_that_fits(inspect(folder), "auto", torch.device("cpu"), None, free=2**30) or 0) < 2**24


def test_a_tied_embedding_that_memory_holds_twice_is_counted_twice(tmp_path: Path) -> None:
    """A GPU multiplies with the tensor in which it looks tokens up, unless another dtype was asked for."""
    facts = inspect(save(tmp_path, "llama", dtype=torch.bfloat16, **LLAMA | {"tie_word_embeddings": True}))
    once = 2 * facts.parameters
    for device, dtype, wanted in (("cuda:0", "auto", 0), ("cuda:0", "bfloat16", 0), ("cpu", "auto", 2 * 97 * 48)):
        needed = once + wanted + 2 * 2 * 3 * 2 * 8 * (2 if device == "cpu" else 1)  # keys and values of one token
        assert context_that_fits(facts, dtype, torch.device(device), 1, free=needed) == 1
        with pytest.raises(OutOfMemory):
            context_that_fits(facts, dtype, torch.device(device), 1, free=needed - 1)


def test_an_end_token_outside_the_vocabulary_ends_nothing_and_is_remarked(folder: Path, saved: Path) -> None:
    (folder / "generation_config.json").write_text('{"eos_token_id": [3, 50256]}')
    assert inspect(folder).end_tokens == {3}
    assert any("end token 50256 is none of its 97 tokens" in said for said in sentences(check_pair(folder, saved)))


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


def test_a_pattern_that_gives_up_on_a_text_is_told_in_a_sentence(folder: Path) -> None:
    pattern = {"type": "Split", "pattern": {"Regex": "(a|a|aa)+$"}, "behavior": "Isolated", "invert": False}
    edit(folder / "tokenizer.json", pre_tokenizer=pattern)
    with pytest.raises(BadPrompt, match=r"The tokenizer cannot read this text: .*\.$"):
        load(folder).tokenizer.encode("a" * 2000 + "b")


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
