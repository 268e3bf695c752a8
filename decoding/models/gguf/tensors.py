"""The tensors of a checkpoint under llama.cpp's names, each read and reordered when it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import gguf
import torch
from torch import Tensor

from decoding.errors import BadExport
from decoding.models.fast.names import expected_tensors
from decoding.models.fast.rope import frequencies, side_by_side
from decoding.models.fast.shape import Shape
from decoding.models.folder import ModelFolder
from decoding.models.tensor_headers import TensorHeader

HEAD_NORMS = ("self_attn.q_norm.weight", "self_attn.k_norm.weight")
TURNED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")  # GPT-2 stores these as [in, out]
QKV_BIASES = tuple(f"self_attn.{part}_proj.bias" for part in "qkv")
Reorder = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Planned:
    source: str | None  # name in the checkpoint; None: `reorder` makes the tensor
    name: str
    shape: tuple[int, ...]
    reorder: Reorder

    @property
    def is_float32(self) -> bool:
        """llama.cpp adds and multiplies these with float32 rows."""
        return len(self.shape) == 1 or self.name == "position_embd.weight"


def planned(folder: ModelFolder, shape: Shape, architecture: str) -> list[Planned]:
    """List every tensor that llama.cpp needs. Refuse a checkpoint whose tensors have no place in the architecture."""
    names = gguf.get_tensor_name_map(_constant(architecture), shape.layers)
    found = []
    for name, known_as in _sources(shape, folder.tensors):
        to = names.get_name(known_as, try_suffixes=(".weight", ".bias"))
        if to is None or not _takes(architecture, known_as):
            raise BadExport(
                f"{folder.path} has the tensor {name}, and llama.cpp's architecture {architecture} has no place for it."
            )
        found.append(_planned(name, to, folder.tensors[name], shape, architecture))
    if architecture == "gpt2":
        _require_biases(folder, {tensor.name for tensor in found})
    if shape.rope is not None and shape.rope["rope_type"] == "llama3":
        found.append(Planned(None, "rope_freqs.weight", (shape.head_dim // 2,), lambda _: _divisors(shape)))
    return found


def _sources(shape: Shape, tensors: Mapping[str, TensorHeader]) -> Iterator[tuple[str, str]]:
    """Yield the tensors that our decoder reads: name in the checkpoint, and by which the gguf package knows it."""
    is_gpt2 = shape.family == "gpt2"
    prefix = "transformer." if is_gpt2 and "transformer.wte.weight" in tensors else ""
    needed = [prefix + name for name in expected_tensors(shape)]
    if is_gpt2 and not shape.tied:
        needed.append("lm_head.weight")
    norms = [f"model.layers.{i}.{norm}" for i in range(shape.layers) for norm in HEAD_NORMS]
    biases = [name.removesuffix("weight") + "bias" for name in needed if is_gpt2 or "norm" not in name]
    for name in (*needed, *(name for name in (*norms, *biases) if name in tensors)):
        yield name, name if not is_gpt2 or prefix or name.startswith("lm_head") else f"transformer.{name}"


def _takes(architecture: str, name: str) -> bool:
    return not (architecture.startswith("qwen") and name.endswith(".bias")) or name.endswith(QKV_BIASES)


def _planned(source: str, name: str, header: TensorHeader, shape: Shape, architecture: str) -> Planned:
    if architecture == "gpt2" and source.endswith(TURNED):
        return Planned(source, name, header.shape[::-1], lambda tensor: tensor.t().contiguous())
    heads = {"q_proj": shape.heads, "k_proj": shape.kv_heads}.get(source.split(".")[-2], 0)
    if architecture == "llama" and heads:  # it turns neighbours, where transformers turns a head's two halves
        return Planned(source, name, header.shape, lambda tensor: side_by_side(tensor, heads))
    return Planned(source, name, header.shape, lambda tensor: tensor)


def _require_biases(folder: ModelFolder, names: set[str]) -> None:
    for name in sorted(names):
        bias = name.removesuffix("weight") + "bias"
        if bias not in names and not name.endswith(("_embd.weight", "output.weight", ".bias")):
            raise BadExport(f"{folder.path} has no {bias}, which llama.cpp's architecture gpt2 needs.")


def _divisors(shape: Shape) -> Tensor:
    """Divisors of the plain frequencies, which llama.cpp takes for rotary positions of the kind llama3."""
    assert shape.rope is not None
    plain, _ = frequencies({**shape.rope, "rope_type": "default"}, shape.head_dim)
    slowed, _ = frequencies(shape.rope, shape.head_dim)
    return (plain / slowed).to(torch.float32)


def _constant(architecture: str) -> gguf.MODEL_ARCH:
    return next(constant for constant, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
