"""GGUF files read back with the gguf package: the tensors, the numbers and the tokenizer of the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from decoding.errors import BadExport
from decoding.models.gguf.writing import export_of, write
from tests.kit.bpe import CUTS, save_with_bpe
from tests.kit.models import GPT2, LLAMA, YARN, save
from tests.kit.terminal import given
from worker.terminal import export

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {  # test_gguf_models.py reads the others back
    "mistral": ("mistral", LLAMA | {"sliding_window": None}),
    "gpt2": ("gpt2", GPT2),
    "gpt2, inner, untied": ("gpt2", GPT2 | {"n_inner": 100, "tie_word_embeddings": False}),
}


def exported(folder: Path, to: Path, dtype: str = "float32") -> GGUFReader:
    write(export_of(folder), to, dtype)
    return GGUFReader(to)


def value(reader: GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def tensors(reader: GGUFReader) -> dict[str, NDArray[Any]]:
    return {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return save_with_bpe(tmp_path / "model", "llama", **LLAMA)


@pytest.mark.parametrize("case", list(FAMILIES))
def test_a_file_holds_every_number_of_the_checkpoint_and_no_other(tmp_path: Path, case: str) -> None:
    model_type, config = FAMILIES[case]
    folder = save_with_bpe(tmp_path / "model", model_type, **config)
    written = tensors(exported(folder, tmp_path / "model.gguf")).values()
    stored = load_file(folder / "model.safetensors").values()
    assert sorted(a.size for a in written) == sorted(t.numel() for t in stored)
    assert np.array_equal(
        np.sort(np.concatenate([a.ravel() for a in written])), np.sort(torch.cat([t.ravel() for t in stored]).numpy())
    )


def test_llama_turns_neighbours_where_the_checkpoint_turns_halves(tmp_path: Path, llama: Path) -> None:
    written = tensors(exported(llama, tmp_path / "model.gguf"))
    stored = {name: tensor.numpy() for name, tensor in load_file(llama / "model.safetensors").items()}
    for name, part, heads in (("q", "q_proj", 6), ("k", "k_proj", 2)):
        before = stored[f"model.layers.1.self_attn.{part}.weight"].reshape(heads, 8, 48)
        after = written[f"blk.1.attn_{name}.weight"].reshape(heads, 8, 48)
        assert np.array_equal(after[:, 0::2], before[:, :4])
        assert np.array_equal(after[:, 1::2], before[:, 4:])
    for name, part in (("attn_v", "self_attn.v_proj"), ("attn_output", "self_attn.o_proj"), ("ffn_up", "mlp.up_proj")):
        assert np.array_equal(written[f"blk.2.{name}.weight"], stored[f"model.layers.2.{part}.weight"])
    assert np.array_equal(written["output.weight"], stored["lm_head.weight"])


def test_the_first_gpt2_checkpoints_without_a_prefix_are_written_too(tmp_path: Path) -> None:
    folder = save_with_bpe(tmp_path / "model", "gpt2", **GPT2)
    want = tensors(exported(folder, tmp_path / "one.gguf"))
    stored = load_file(folder / "model.safetensors")
    save_file({name.removeprefix("transformer."): t for name, t in stored.items()}, folder / "model.safetensors")
    got = tensors(exported(folder, tmp_path / "other.gguf"))
    assert got.keys() == want.keys()
    assert all(np.array_equal(got[name], want[name]) for name in want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_matrices_are_rounded_to_the_nearest_and_vectors_stay_float32(tmp_path: Path, llama: Path, dtype: str) -> None:
    whole = tensors(exported(llama, tmp_path / "whole.gguf"))
    narrow = tensors(exported(llama, tmp_path / "narrow.gguf", dtype))
    for name, wanted in whole.items():
        got = torch.from_numpy(narrow[name])
        if wanted.ndim == 1:
            assert np.array_equal(narrow[name], wanted)
            continue
        got = got.view(torch.bfloat16) if dtype == "bfloat16" else got
        assert torch.equal(got, torch.from_numpy(wanted).to(got.dtype)), name


def test_yarn_leaves_out_the_factor_that_llama_cpp_multiplies_by_itself(tmp_path: Path) -> None:
    rope = YARN | {"attention_factor": 1.3}
    folder = save_with_bpe(tmp_path / "model", "llama", **LLAMA, rope_parameters=rope)
    reader = exported(folder, tmp_path / "model.gguf")
    at = "llama.rope.scaling."
    assert value(reader, at + "type") == "yarn"
    assert (value(reader, at + "factor"), value(reader, at + "original_context_length")) == (4.0, 32)
    assert value(reader, at + "attn_factor") == pytest.approx(1.3 / (1 + 0.1 * np.log(4)))


@pytest.mark.parametrize("name", list(CUTS))
def test_a_tokenizer_gets_llama_cpps_name_for_its_cuts(tmp_path: Path, name: str) -> None:
    folder = save_with_bpe(tmp_path / "model", "llama", *CUTS[name], **LLAMA)
    reader = exported(folder, tmp_path / "model.gguf")
    assert value(reader, "tokenizer.ggml.pre") == name
    stored = json.loads((folder / "tokenizer.json").read_text())
    listed, kinds = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.token_type")
    assert {text: id for id, text in enumerate(listed) if kinds[id] == 1} == {
        text: id for text, id in stored["model"]["vocab"].items() if id != 0
    }
    assert (listed[0], kinds[0]) == ("<|endoftext|>", 3)
    assert [text for text, kind in zip(listed, kinds, strict=True) if kind == 4] == ["<tool>", "</tool>"]
    assert kinds[-1] == 5, "a row of the embedding that no text has"
    assert value(reader, "tokenizer.ggml.merges") == [" ".join(pair) for pair in stored["model"]["merges"]]
    assert value(reader, "tokenizer.ggml.add_bos_token") is False


def test_end_tokens_chat_template_and_a_token_before_each_text_are_kept(tmp_path: Path, llama: Path) -> None:
    (llama / "generation_config.json").write_text('{"eos_token_id": [598, 0]}')
    (llama / "chat_template.jinja").write_text("{{ messages[0].content }}")
    first = {"Sequence": {"id": "A", "type_id": 0}}
    edit(
        llama / "tokenizer.json",
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, first],
            "pair": [first, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}},
        },
    )
    reader = exported(llama, tmp_path / "model.gguf")
    assert value(reader, "tokenizer.ggml.eos_token_id") == 0
    assert value(reader, "tokenizer.ggml.eot_token_id") == 598
    assert value(reader, "tokenizer.ggml.add_bos_token") is True
    assert value(reader, "tokenizer.ggml.add_eos_token") is False
    assert value(reader, "tokenizer.chat_template") == "{{ messages[0].content }}"


def edit(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def edit_model(folder: Path, **values: Any) -> None:
    stored = json.loads((folder / "tokenizer.json").read_text())
    edit(folder / "tokenizer.json", model=stored["model"] | values)


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "window": (lambda folder: edit(folder / "config.json", model_type="mistral", sliding_window=9), "looks back 9"),
    "activation": (lambda folder: edit(folder / "config.json", hidden_act="gelu"), "activation gelu"),
    "yarn": (lambda folder: edit(folder / "config.json", rope_parameters=YARN | {"beta_fast": 8}), "another beta_fast"),
    "end tokens": (
        lambda folder: [
            (folder / "generation_config.json").write_text("{}"),
            edit(folder / "config.json", eos_token_id=None),
        ],
        "names no end token",
    ),
    "cuts": (
        lambda folder: edit(folder / "tokenizer.json", pre_tokenizer=BYTES | {"add_prefix_space": True}),
        "cuts a text by",
    ),
    "other cuts": (
        lambda folder: edit(
            folder / "tokenizer.json",
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False},
        ),
        "is none of gpt-2, ",
    ),
    "normalizer": (lambda folder: edit(folder / "tokenizer.json", normalizer={"type": "Lowercase"}), "rewrites a text"),
    "suffix": (lambda folder: edit_model(folder, end_of_word_suffix="</w>"), "sets end_of_word_suffix"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_llama_cpp_would_do_otherwise_is_refused_in_a_sentence(llama: Path, case: str) -> None:
    change, reason = REFUSED[case]
    change(llama)
    with pytest.raises(BadExport, match=reason.replace("is none of gpt-2, ", "none of")):
        export_of(llama)


def test_a_tokenizer_of_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadExport, match="WordLevel and not a byte-level BPE"):
        export_of(save(tmp_path, "llama", **LLAMA))


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
def test_a_tensor_without_a_place_is_refused(tmp_path: Path, model_type: str) -> None:
    folder = save_with_bpe(tmp_path / "model", model_type, **LLAMA | {"attention_bias": model_type == "qwen3"})
    stored = load_file(folder / "model.safetensors")
    if model_type == "llama":
        stored |= {f"model.layers.0.self_attn.{part}_norm.weight": torch.ones(8) for part in "qk"}
    save_file(stored, folder / "model.safetensors")
    with pytest.raises(BadExport, match="has no place for it"):
        export_of(folder)


def test_a_pair_is_written_by_the_command(tmp_path: Path, llama: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ("--target", llama, "--draft", llama)
    assert given(export.run, "gguf", *models, "--dtype", "bfloat16", "-o", tmp_path / "out") == 0
    assert "30 tensors" in capsys.readouterr().out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["draft.gguf", "target.gguf"]


def test_nothing_is_left_of_an_export_that_fails_at_its_last_tensor(
    tmp_path: Path, llama: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = save_with_bpe(tmp_path / "draft", "llama", **LLAMA)
    stored = load_file(draft / "model.safetensors")
    stored["model.layers.2.mlp.down_proj.weight"][0, 0] = 1e6
    save_file(stored, draft / "model.safetensors")
    models = ("--target", llama, "--draft", draft)
    assert given(export.run, "gguf", *models, "--dtype", "float16", "-o", tmp_path / "out") == 2
    assert "blk.2.ffn_down.weight holds numbers too large" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
