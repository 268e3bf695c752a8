"""A model folder written as one GGUF file, one tensor in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf.constants import LlamaFileType
from torch import Tensor

from decoding.errors import BadExport
from decoding.models.fast.rope import frequencies
from decoding.models.fast.shape import Shape
from decoding.models.fast.weights import TensorFiles
from decoding.models.folder import ModelFolder, inspect
from decoding.models.gguf.architectures import architecture_of
from decoding.models.gguf.tensors import Planned, planned
from decoding.models.gguf.vocabulary import Vocabulary, vocabulary_of


@dataclass(frozen=True)
class Format:
    torch: torch.dtype
    numpy: type
    gguf: gguf.GGMLQuantizationType
    file: LlamaFileType


FORMATS = {
    "float32": Format(torch.float32, np.float32, gguf.GGMLQuantizationType.F32, LlamaFileType.ALL_F32),
    "float16": Format(torch.float16, np.float16, gguf.GGMLQuantizationType.F16, LlamaFileType.MOSTLY_F16),
    "bfloat16": Format(torch.bfloat16, np.int16, gguf.GGMLQuantizationType.BF16, LlamaFileType.MOSTLY_BF16),
}


@dataclass(frozen=True)
class Export:
    """A checkpoint that can be written, checked as far as that needs no weights."""

    folder: ModelFolder
    shape: Shape
    architecture: str
    vocabulary: Vocabulary
    tensors: list[Planned]

    @property
    def largest(self) -> int:
        """Numbers in the largest tensor."""
        return max(int(np.prod(tensor.shape)) for tensor in self.tensors)


def export_of(path: Path) -> Export:
    """Check a model folder. Raises BadExport with the reason if llama.cpp would not run it as our decoder does."""
    folder = inspect(path)
    architecture = architecture_of(folder)
    assert folder.shape is not None  # or architecture_of had refused it
    vocabulary = vocabulary_of(folder)
    return Export(folder, folder.shape, architecture, vocabulary, planned(folder, folder.shape, architecture))


def write(export: Export, to: Path, dtype: str, on_tensor: Callable[[int], None] = lambda _: None) -> None:
    """Write the file. `on_tensor` hears how many tensors are written."""
    writer = gguf.GGUFWriter(to, export.architecture)
    try:
        _describe(writer, export, dtype)
        for tensor in export.tensors:
            form = _format_of(tensor, dtype)
            size = int(np.prod(tensor.shape)) * np.dtype(form.numpy).itemsize
            writer.add_tensor_info(tensor.name, tensor.shape, np.dtype(form.numpy), size, form.gguf)
        writer.write_header_to_file(to)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        tensors = TensorFiles(export.folder.files)
        for number, tensor in enumerate(export.tensors, 1):
            stored = tensors[tensor.source] if tensor.source else torch.empty(0)
            writer.write_tensor_data(_numbers(tensor.reorder(stored), _format_of(tensor, dtype), tensor.name))
            on_tensor(number)
    finally:
        writer.close()


def _format_of(tensor: Planned, dtype: str) -> Format:
    return FORMATS["float32" if tensor.is_float32 else dtype]


def _numbers(tensor: Tensor, form: Format, name: str) -> np.ndarray:
    cast = tensor.to(form.torch).contiguous()
    if cast.isinf().any() and not tensor.isinf().any():
        raise BadExport(f"{name} holds numbers too large for {form.torch}. Export float32 or bfloat16.")
    return (cast.view(torch.int16) if form.torch == torch.bfloat16 else cast).numpy()


def _describe(writer: gguf.GGUFWriter, export: Export, dtype: str) -> None:
    shape = export.shape
    writer.add_name(export.folder.path.resolve().name)
    writer.add_file_type(FORMATS[dtype].file)
    writer.add_vocab_size(shape.vocab_size)
    writer.add_context_length(export.folder.context or shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    if shape.family == "gpt2":
        writer.add_layer_norm_eps(shape.norm_eps)
    else:
        writer.add_layer_norm_rms_eps(shape.norm_eps)
    _describe_rope(writer, shape)
    export.vocabulary.write(writer)


def _describe_rope(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """A rope that grows with the text is plain within the context that the file names."""
    rope = shape.rope
    if rope is None:
        return
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        _, factor = frequencies(rope, shape.head_dim)
        grown = 1.0 + 0.1 * float(np.log(rope["factor"]))  # llama.cpp multiplies by this itself
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_attn_factors(factor / grown)
