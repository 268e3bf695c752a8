"""A GGUF file as a model: the folder made of it holds the file's numbers and gives the file's own token ids."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from decoding.errors import BadCheckpoint
from decoding.models.checkpoints import load, tokenizer_of
from decoding.models.fast.rope import frequencies
from decoding.models.folder import inspect
from decoding.models.gguf.header import FORMATS, read_gguf
from decoding.models.gguf.reading import write_folder
from decoding.vocabularies.fit import check_pair
from tests.kit.bpe import CUTS, HARD, save_with_bpe
from tests.kit.gguf_files import BLOCKS, Arrays, Values, contents, exported, gemma, gemma_vocabulary, write_gguf
from tests.kit.models import LLAMA, LLAMA3, YARN
from worker.gguf_folders import weight_bytes

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama, biases, YaRN": ("llama", LLAMA | {"attention_bias": True, "mlp_bias": True, "rope_parameters": YARN}),
    "llama 3": (
        "llama",
        LLAMA | {"rope_parameters": LLAMA3 | {"rope_theta": 5e5, "original_max_position_embeddings": 64}},
    ),
    "mistral": ("mistral", LLAMA | {"sliding_window": None}),
    "qwen2": ("qwen2", LLAMA),
    "qwen3": ("qwen3", LLAMA | {"head_dim": 16}),
}


def made(file: Path) -> Path:
    """Make the folder of a file."""
    folder = file.with_name("made")
    folder.mkdir()
    write_folder(file, folder)
    return folder


@pytest.mark.parametrize("case", list(FAMILIES))
def test_a_folder_that_was_written_as_gguf_comes_back(tmp_path: Path, case: str) -> None:
    model_type, config = FAMILIES[case]
    before = save_with_bpe(tmp_path / "model", model_type, **config)
    after = made(exported(before, tmp_path / "model.gguf"))
    stored, read = (load_file(folder / "model.safetensors") for folder in (before, after))
    assert stored.keys() == read.keys()
    assert all(torch.equal(stored[name], read[name]) for name in stored)
    was, now = (inspect(folder).shape for folder in (before, after))
    assert was and now and was.rope and now.rope
    assert dataclasses.replace(was, rope=None, family="llama") == dataclasses.replace(now, rope=None, family="llama")
    (theirs, their_factor), (ours, our_factor) = (frequencies(each.rope, was.head_dim) for each in (was, now))
    assert torch.allclose(theirs, ours, rtol=1e-4, atol=0)
    assert their_factor == pytest.approx(our_factor)
    assert inspect(before).end_tokens == inspect(after).end_tokens


@pytest.mark.parametrize("name", list(CUTS))
def test_a_byte_level_tokenizer_gives_the_ids_that_it_gave(tmp_path: Path, name: str) -> None:
    before = save_with_bpe(tmp_path / "model", "llama", *CUTS[name], **LLAMA)
    (before / "chat_template.jinja").write_text("{{ messages[0].content }}")
    after = made(exported(before, tmp_path / "model.gguf"))
    was, now = (tokenizer_of(inspect(folder)) for folder in (before, after))
    composed = HARD if name != "qwen2" else [text for text in HARD if "\u0301" not in text]  # NFC, as Qwen's own
    assert [now.encode(text) for text in composed] == [was.encode(text) for text in composed]
    assert now.inner.chat_template == "{{ messages[0].content }}"


@pytest.mark.parametrize("form", ["Q4_1", "BF16"])
def test_quantised_weights_are_the_numbers_that_they_stand_for(tmp_path: Path, form: str) -> None:
    values, arrays = contents(exported(save_with_bpe(tmp_path / "m", "qwen3", **LLAMA | BLOCKS), tmp_path / "f32.gguf"))
    kind = GGMLQuantizationType[form]
    folder = made(write_gguf(tmp_path / "model.gguf", values, arrays, kind))
    read = load_file(folder / "model.safetensors")
    assert weight_bytes(read_gguf(tmp_path / "model.gguf")) == sum(each.nbytes for each in read.values())
    wanted = gguf.quants.dequantize(gguf.quants.quantize(arrays["blk.1.ffn_up.weight"], kind), kind)
    got = read["model.layers.1.mlp.up_proj.weight"]
    assert got.dtype == (torch.bfloat16 if form == "BF16" else torch.float16)
    assert torch.equal(got, torch.from_numpy(wanted).to(got.dtype))
    assert np.array_equal(read["model.norm.weight"].numpy(), arrays["output_norm.weight"])
    assert isinstance(load(folder).runner.facts.context, int)


def test_numbers_too_large_for_float16_are_refused(tmp_path: Path) -> None:
    values, arrays = contents(exported(save_with_bpe(tmp_path / "m", "qwen3", **LLAMA | BLOCKS), tmp_path / "f32.gguf"))
    arrays["blk.2.ffn_down.weight"][0, 0] = 1e6
    with pytest.raises(BadCheckpoint, match=r"holds numbers too large for float16.* Take the folder"):
        made(write_gguf(tmp_path / "model.gguf", values, arrays, GGMLQuantizationType.Q8_0))


def test_gemma_3_computes_what_transformers_computes_and_joins_pieces_by_their_scores(tmp_path: Path) -> None:
    """Letters without a piece become bytes."""
    folder = made(gemma(tmp_path / "model", tmp_path / "model.gguf"))
    tokens = torch.tensor([[2, 262, 263, 270, 265, 271, 3, 4, 5, 264, 269, 266]])
    with torch.no_grad():
        before, after = (
            AutoModelForCausalLM.from_pretrained(each, dtype=torch.float32)(tokens).logits
            for each in (tmp_path / "model", folder)
        )
    assert torch.allclose(before, after, atol=1e-4)
    assert inspect(folder).end_tokens == {1, 277}
    tokenizer = tokenizer_of(inspect(folder))
    ids = {text: id for id, text in enumerate(gemma_vocabulary()["tokenizer.ggml.tokens"])}
    wanted = ["abc", "▁the", "  ", "a", "\n", "<0xC3>", "<0xA9>", "▁", "<0x7A>", "<end_of_turn>", "at"]
    assert tokenizer.encode("abc the  a\né z<end_of_turn>at") == [ids[text] for text in wanted]
    assert tokenizer.decode([ids[text] for text in wanted]) == "abc the  a\né z<end_of_turn>at"


def test_a_pair_says_what_its_models_were_and_formats_are_those_of_the_gguf_package(tmp_path: Path) -> None:
    folder = made(exported(save_with_bpe(tmp_path / "model", "llama", **LLAMA), tmp_path / "model.gguf"))
    (sentence,) = (found.sentence for found in check_pair(folder, None).findings if found.topic == "target from GGUF")
    assert "dequantised from a GGUF file (F32, 0 MB)" in sentence
    for number, (name, *sizes) in FORMATS.items():
        assert tuple(sizes) == gguf.GGML_QUANT_SIZES[GGMLQuantizationType[name]]
        assert number == GGMLQuantizationType[name]


def torn(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def value(key: str, kind: int, content: bytes) -> Callable[[Path], object]:
    """Write a file of one value."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", len(key)) + key.encode()
    return lambda file: file.write_bytes(head + struct.pack("<I", kind) + content + bytes(100))


def changed(change: Callable[[Values, Arrays], object]) -> Callable[[Path], object]:
    def rewrite(file: Path) -> None:
        values, arrays = contents(file)
        change(values, arrays)
        write_gguf(file, values, arrays)

    return rewrite


def with_value(key: str, new: Any) -> Callable[[Path], object]:
    return changed(lambda values, arrays: values.update({key: new}))


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "torn": (torn, "its header describes [0-9,]+ bytes and the file has"),
    "huge text": (value("a", 8, struct.pack("<Q", 2**50)), "claims .* bytes of one text"),
    "huge list": (value("a", 9, struct.pack("<IQ", 5, 2**50)), "claims .* items of lists"),
    "list that the file lacks": (value("a", 9, struct.pack("<IQ", 12, 1 << 21)), "ends within its header"),
    "one of several parts": (with_value("split.count", 3), "one of 3 parts.*llama-gguf-split --merge"),
    "another model's width": (with_value("llama.feed_forward_length", 160), "belong to different models"),
    "a tensor without a place": (
        changed(lambda values, arrays: arrays.update({"blk.0.ssm_in.weight": np.ones((2, 2), np.float32)})),
        "holds the tensor blk.0.ssm_in.weight",
    ),
    "heads of another size": (with_value("llama.attention.head_count", 10), "rows of .* are not those of 10 heads"),
    "unknown rules": (with_value("tokenizer.ggml.pre", "tekken"), "splits text by the rules 'tekken'"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("gguf")
    return exported(save_with_bpe(folder / "model", "llama", **LLAMA), folder / "model.gguf").read_bytes()


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_file_is_refused_in_a_sentence(tmp_path: Path, written: bytes, case: str) -> None:
    spoil, says = REFUSED[case]
    file = tmp_path / "model.gguf"
    file.write_bytes(written)
    spoil(file)
    with pytest.raises(BadCheckpoint, match=says) as refusal:
        made(file)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")
