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
from tests.kit.bpe import save_with_bpe
from tests.kit.models import LLAMA, YARN, edit
from tests.kit.terminal import given
from worker.terminal import export


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


def test_matrices_are_rounded_to_the_nearest_and_vectors_stay_float32(tmp_path: Path, llama: Path) -> None:
    whole = tensors(exported(llama, tmp_path / "whole.gguf"))
    narrow = tensors(exported(llama, tmp_path / "narrow.gguf", "bfloat16"))
    for name, wanted in whole.items():
        if wanted.ndim == 1:
            assert np.array_equal(narrow[name], wanted)
        else:
            rounded = torch.from_numpy(wanted).bfloat16()
            assert torch.equal(torch.from_numpy(narrow[name]).view(torch.bfloat16), rounded), name


def test_a_tokenizer_keeps_its_tokens_ends_template_and_the_token_before_each_text(tmp_path: Path, llama: Path) -> None:
    """test_gguf_models.py reads the other cuts back."""
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
    told = {name: value(reader, f"tokenizer.ggml.{name}") for name in ("pre", "eos_token_id", "eot_token_id")}
    assert told == {"pre": "llama-bpe", "eos_token_id": 0, "eot_token_id": 598}
    assert [value(reader, f"tokenizer.ggml.add_{name}_token") for name in ("bos", "eos")] == [True, False]
    assert value(reader, "tokenizer.chat_template") == "{{ messages[0].content }}"
    listed, kinds = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.token_type")
    assert (listed[0], kinds[0]) == ("<|endoftext|>", 3)
    assert [text for text, kind in zip(listed, kinds, strict=True) if kind == 4] == ["<tool>", "</tool>"]
    assert kinds[-1] == 5, "a row of the embedding that no text has"


def with_suffix(file: Path) -> None:
    edit(file, model=json.loads(file.read_text())["model"] | {"end_of_word_suffix": "</w>"})


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
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
    "suffixes": (lambda folder: with_suffix(folder / "tokenizer.json"), "sets end_of_word_suffix"),
    "normalizer": (lambda folder: edit(folder / "tokenizer.json", normalizer={"type": "Lowercase"}), "rewrites a text"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_llama_cpp_would_do_otherwise_is_refused_in_a_sentence(llama: Path, case: str) -> None:
    change, reason = REFUSED[case]
    change(llama)
    with pytest.raises(BadExport, match=reason):
        export_of(llama)


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
