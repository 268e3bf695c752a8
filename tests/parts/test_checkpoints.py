"""A model folder that cannot be used is refused in one sentence: what is wrong, and what to do."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from decoding.errors import BadCheckpoint, OutOfMemory
from decoding.models.checkpoints import context_that_fits, load, tokenizer_of
from decoding.models.fast.runner import FastRunner
from decoding.models.folder import inspect
from tests.kit.models import LLAMA, save


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved"), "llama", dtype=torch.bfloat16, **LLAMA)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def test_facts_are_read_without_loading_anything(folder: Path) -> None:
    facts = inspect(folder)
    found = facts.family, facts.runner, facts.dtype, facts.vocab_size, facts.context
    assert found == ("llama", "fast", "bfloat16", 97, 128)
    weights = load_file(folder / "model.safetensors").values()
    assert facts.parameters == sum(tensor.numel() for tensor in weights)
    assert facts.weight_bytes == 2 * facts.parameters
    assert facts.kv_values_per_token == 3 * 2 * 2 * 8


def test_a_folder_becomes_a_runner_and_a_tokenizer(folder: Path) -> None:
    loaded = load(folder)
    assert isinstance(loaded.runner, FastRunner)
    assert loaded.runner.facts.context == 128
    assert loaded.tokenizer.encode("w5 w6") == [5, 6]
    assert loaded.tokenizer.decode([5, 6]) == "w5 w6"


def test_loading_imports_no_compiler(folder: Path) -> None:
    code = "import sys; from decoding.models.checkpoints import load; load(sys.argv[1]); "
    code += "print('torch._dynamo' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("model_type", ["llama", "deepseek_v2"])
@pytest.mark.parametrize("named", ["LlamaTokenizer", "Unheard", None])
def test_a_tokenizer_has_the_class_that_the_library_would_choose(
    folder: Path, model_type: str, named: str | None
) -> None:
    set_config(folder, model_type=model_type)
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
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def torn(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def headless(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 17\n")


def without_a_tensor(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, file)


def without_a_shard(folder: Path) -> None:
    save(folder, "llama", shard="20KB", **LLAMA)
    (folder / "model.safetensors").unlink(missing_ok=True)
    next(folder.glob("model-00002*")).unlink()


def as_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def as_gguf(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.gguf").write_bytes(b"GGUF" + bytes(100))


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def as_adapter(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "config.json").rename(folder / "adapter_config.json")


def in_8_bits(folder: Path) -> None:
    file = folder / "model.safetensors"
    name = "model.layers.1.mlp.up_proj.weight"
    tensors = load_file(file)
    save_file(tensors | {name: tensors[name].to(torch.float8_e4m3fn)}, file)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda folder: shutil.rmtree(folder), "not a folder"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    "no model type": (lambda folder: set_config(folder, model_type=None), "no model_type"),
    "unknown architecture": (
        lambda folder: set_config(folder, model_type="warp9"),
        r"cannot load .* it is a 'warp9'\. .*never code that comes with a model",
    ),
    "a model of pictures": (
        lambda folder: set_config(folder, model_type="llava", architectures=[], vision_config={}),
        "cannot load .* it is a 'llava' for pictures",
    ),
    "AWQ": (
        lambda folder: set_config(folder, quantization_config={"quant_method": "awq"}),
        r"quantised checkpoint \(awq\).*bf16 folder.*server",
    ),
    "bitsandbytes by its flags": (
        lambda folder: set_config(folder, quantization_config={"load_in_4bit": True}),
        r"quantised checkpoint \(bitsandbytes\)",
    ),
    "MLX": (
        lambda folder: set_config(folder, quantization={"bits": 4, "group_size": 64}),
        r"quantised checkpoint \(MLX\)",
    ),
    "the old config of compressed-tensors": (
        lambda folder: set_config(folder, compression_config={"format": "pack-quantized"}),
        r"quantised checkpoint \(compressed-tensors\)",
    ),
    "ModelOpt": (lambda folder: (folder / "hf_quant_config.json").write_text("{}"), r"checkpoint \(ModelOpt\)"),
    "FP8 without a word": (in_8_bits, r"quantised checkpoint \(FP8\)"),
    "LoRA": (as_adapter, "is an adapter .LoRA.*merge_and_unload"),
    **{
        name: (
            lambda folder, told=told: set_config(folder, **told),
            rf"is a draft head \({name}\).*Start its target with it as a server",
        )
        for name, told in (
            ("EAGLE-3", {"architectures": ["LlamaForCausalLMEagle3"]}),
            ("speculators", {"speculators_config": {}}),
        )
    },
    "an encoder": (
        lambda folder: set_config(folder, model_type="bert", architectures=["BertModel"]),
        "BertModel, which continues no text",
    ),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    "GGUF": (as_gguf, "is GGUF.*needs a model folder with safetensors"),
    "pickle": (as_a_pickle, "pickle.*save_pretrained"),
    "torn weights": (torn, "torn: its header describes"),
    "a header larger than its file": (
        lambda folder: (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}" + bytes(100)),
        "no header that fits",
    ),
    "weights left behind by git": (headless, "git lfs pull"),
    "missing tensor": (without_a_tensor, r"lacks 1 of .*layers\.1\.mlp\.up_proj\.weight"),
    "missing shard": (without_a_shard, r"lacks 1 of the .*model-00002"),
    "other shape": (lambda folder: set_config(folder, hidden_size=96, head_dim=8), "by config.json"),
    "no tokenizer": (without_tokenizer, "no tokenizer"),
    "broken tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        "tokenizer of .* cannot be loaded",
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


def test_a_device_that_a_model_cannot_be_brought_to_is_refused_in_a_sentence(folder: Path) -> None:
    with pytest.raises(BadCheckpoint, match=r"transformers .* cannot load"):
        load(folder, device=torch.device("mps"), runner="transformers")


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
