"""A model folder written as one GGUF file, one tensor in memory at a time. A model is refused that no architecture of
llama.cpp computes as our decoder does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf.constants import LlamaFileType
from torch import Tensor

from decoding.errors import BadExport
from decoding.models.fast.rope import frequencies, side_by_side
from decoding.models.fast.shape import Shape, expected_tensors
from decoding.models.fast.weights import TensorFiles
from decoding.models.folder import ModelFolder, inspect
from decoding.models.gguf.vocabulary import Vocabulary, vocabulary_of
from decoding.models.tensor_headers import TensorHeader

ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
HEAD_NORMS = ("self_attn.q_norm.weight", "self_attn.k_norm.weight")
QKV_BIASES = tuple(f"self_attn.{part}_proj.bias" for part in "qkv")
Reorder = Callable[[Tensor], Tensor]


def architecture_of(folder: ModelFolder) -> str:
    """Name the architecture that runs this model exactly. Refuse a model that none runs."""
    shape = folder.shape
    if shape is None or shape.family not in ARCHITECTURES:
        raise BadExport(
            f"{folder.path} is of the family {folder.family!r:.40}, as it is configured, and only "
            f"{', '.join(ARCHITECTURES)}, as far as Drafthouse's own decoder runs them, can be written as GGUF. "
            "Use llama.cpp's convert_hf_to_gguf.py."
        )
    architecture = ARCHITECTURES[shape.family]
    if reason := _difference(shape, architecture):
        raise BadExport(f"{folder.path} {reason}, which llama.cpp's architecture {architecture} does not do.")
    return architecture


def _difference(shape: Shape, architecture: str) -> str | None:
    """Say what the model does and the architecture does not."""
    rope = shape.rope
    if architecture == "qwen2" and shape.heads * shape.head_dim != shape.hidden:
        return "has heads that together are not as wide as its layers"
    if rope.get("rope_type") == "llama3" and architecture != "llama":
        return "has rotary positions of the kind llama3"
    betas = rope.get("beta_fast") or 32, rope.get("beta_slow") or 1
    if rope.get("rope_type") == "yarn" and betas != (32, 1):
        return "has YaRN positions with another beta_fast or beta_slow than usual"
    return None


@dataclass(frozen=True)
class Planned:
    source: str | None  # name in the checkpoint; None: `reorder` makes the tensor
    name: str
    shape: tuple[int, ...]
    reorder: Reorder

    @property
    def is_float32(self) -> bool:
        """llama.cpp adds and multiplies these with float32 rows."""
        return len(self.shape) == 1


def planned(folder: ModelFolder, shape: Shape, architecture: str) -> list[Planned]:
    """List every tensor that llama.cpp needs. Refuse a checkpoint whose tensors have no place in the architecture."""
    names = gguf.get_tensor_name_map(_constant(architecture), shape.layers)
    found = []
    for name in _sources(shape, folder.tensors):
        to = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if to is None or not _takes(architecture, name):
            raise BadExport(
                f"{folder.path} has the tensor {name}, and llama.cpp's architecture {architecture} has no place for it."
            )
        found.append(_planned(name, to, folder.tensors[name], shape, architecture))
    if shape.rope["rope_type"] == "llama3":
        found.append(Planned(None, "rope_freqs.weight", (shape.head_dim // 2,), lambda _: _divisors(shape)))
    return found


def _sources(shape: Shape, tensors: Mapping[str, TensorHeader]) -> list[str]:
    """List the tensors that our decoder reads."""
    needed = [*expected_tensors(shape)]
    norms = [f"model.layers.{i}.{norm}" for i in range(shape.layers) for norm in HEAD_NORMS]
    biases = [name.removesuffix("weight") + "bias" for name in needed if "norm" not in name]
    return needed + [name for name in (*norms, *biases) if name in tensors]


def _takes(architecture: str, name: str) -> bool:
    return not (architecture.startswith("qwen") and name.endswith(".bias")) or name.endswith(QKV_BIASES)


def _planned(source: str, name: str, header: TensorHeader, shape: Shape, architecture: str) -> Planned:
    heads = {"q_proj": shape.heads, "k_proj": shape.kv_heads}.get(source.split(".")[-2], 0)
    if architecture == "llama" and heads:  # it turns neighbours, where transformers turns a head's two halves
        return Planned(source, name, header.shape, lambda tensor: side_by_side(tensor, heads))
    return Planned(source, name, header.shape, lambda tensor: tensor)


def _divisors(shape: Shape) -> Tensor:
    """Divisors of the plain frequencies, which llama.cpp takes for rotary positions of the kind llama3."""
    plain, _ = frequencies({**shape.rope, "rope_type": "default"}, shape.head_dim)
    slowed, _ = frequencies(shape.rope, shape.head_dim)
    return (plain / slowed).to(torch.float32)


def _constant(architecture: str) -> gguf.MODEL_ARCH:
    return next(constant for constant, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)


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
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    _describe_rope(writer, shape)
    export.vocabulary.write(writer)


def _describe_rope(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """A rope that grows with the text is plain within the context that the file names."""
    rope = shape.rope
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
