"""Small GGUF files, written with the gguf package: of a saved folder, changed, quantised, or of Gemma 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from numpy.typing import NDArray

Values = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
BLOCKS: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
}  # whole blocks of 32


def exported(folder: Path, to: Path) -> Path:
    """Write a saved folder as float32."""
    from decoding.models.gguf.writing import export_of, write  # loads torch, which tests of the web do without

    to.parent.mkdir(exist_ok=True)
    write(export_of(folder), to, "float32")
    return to


def contents(file: Path) -> tuple[Values, Arrays]:
    reader = GGUFReader(file)
    values = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    return values, {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


def write_gguf(to: Path, values: Values, arrays: Arrays, quantised: GGMLQuantizationType | None = None) -> Path:
    """Write a file. Matrices are quantised if a format is named."""
    writer = GGUFWriter(to, values["general.architecture"])
    for key, value in values.items():
        if key != "general.architecture":
            add: dict[type, Any] = {
                str: writer.add_string,
                bool: writer.add_bool,
                int: writer.add_uint32,
                float: writer.add_float32,
            }
            add.get(type(value), writer.add_array)(key, value)
    for name, array in arrays.items():
        if quantised is not None and array.ndim > 1:
            writer.add_tensor(name, gguf.quants.quantize(array, quantised), raw_dtype=quantised)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return to


GEMMA: dict[str, Any] = BLOCKS | {
    "num_hidden_layers": 7, "num_key_value_heads": 1, "head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 6,
    "max_position_embeddings": 128,
}  # fmt: skip
PIECES = ("▁", "a", "b", "c", "t", "h", "e", "▁t", "he", "▁the", "ab", "bc", "abc", "at", "▁a")
SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>")


def gemma_vocabulary() -> Values:
    """A tokenizer of scores, with all bytes, runs of spaces that stand for themselves, and control tokens."""
    tokens = [*SPECIAL, "  ", "\n", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES, "<end_of_turn>"]
    kinds = [3, 3, 3, 3, 4, 4] + [6] * 256 + [1] * len(PIECES) + [3]
    scores = [-1000.0] * 6 + [0.0] * 256 + [-float(at) for at in range(len(PIECES))] + [-1000.0]
    values = {
        "model": "llama", "pre": "default", "tokens": tokens, "token_type": kinds, "scores": scores,
        "bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 3, "padding_token_id": 0, "add_bos_token": True,
        "add_space_prefix": False,
    }  # fmt: skip
    return {f"tokenizer.ggml.{key}": value for key, value in values.items()}


def gemma(folder: Path, to: Path) -> Path:
    """Save a random Gemma 3 in `folder`, and write it as llama.cpp stores it: with 1 added to its norms."""
    from safetensors.torch import load_file

    from tests.kit.models import save

    vocabulary = gemma_vocabulary()
    size = len(vocabulary["tokenizer.ggml.tokens"])
    save(folder, "gemma3_text", **GEMMA | {"vocab_size": size})
    values = {
        "context_length": 128, "embedding_length": 64, "block_count": 7, "feed_forward_length": 96,
        "attention.head_count": 4, "attention.head_count_kv": 1, "attention.key_length": 32,
        "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6, "attention.sliding_window": 6,
    }  # fmt: skip
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA3, 7)
    arrays = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        known_as = names.get_name(name, try_suffixes=(".weight",))
        assert known_as
        arrays[known_as] = tensor.numpy() + np.float32(name.endswith("norm.weight"))
    prefixed = {f"gemma3.{key}": value for key, value in values.items()}
    return write_gguf(to, {"general.architecture": "gemma3"} | prefixed | vocabulary, arrays)
