"""A checkpoint's tensors, mapped to the parts of our decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from decoding.models.fast.rope import side_by_side
from decoding.models.fast.shape import Shape

Tensors = Mapping[str, Tensor]


class TensorFiles(Tensors):
    """The tensors of safetensors files by name, each read when it is asked for."""

    def __init__(self, files: Sequence[Path]) -> None:
        opened: list[Any] = [safe_open(file, framework="pt") for file in files]
        self._where = {name: file for file in opened for name in file.keys()}  # noqa: SIM118 (no dict)

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._where[name].get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


@dataclass(frozen=True)
class Part:
    weight: Tensor
    bias: Tensor | None = None


@dataclass(frozen=True)
class LayerWeights:
    norm_1: Part
    qkv: Part  # queries (dealt), keys, values
    head_norm: Tensor | None  # [heads + kv_heads, head_dim]
    out: Part
    norm_2: Part
    inner: Part  # gate and up
    down: Part


@dataclass(frozen=True)
class ModelWeights:
    """Everything outside the layers, and a function that reads layer i: only one layer is held twice at a time."""

    embedding: Tensor
    layer: Callable[[int], LayerWeights]
    norm: Part
    head: Part


def weights_of(shape: Shape, tensors: Tensors) -> ModelWeights:
    def part(name: str) -> Part:
        return Part(tensors[name + ".weight"], tensors.get(name + ".bias"))

    def head_norm(at: str) -> Tensor | None:
        if at + "self_attn.q_norm.weight" not in tensors:
            return None
        of_queries, of_keys = (side_by_side(tensors[f"{at}self_attn.{x}_norm.weight"], 1) for x in "qk")
        return torch.cat((of_queries.expand(shape.heads, -1), of_keys.expand(shape.kv_heads, -1)))

    def layer(i: int) -> LayerWeights:
        at = f"model.layers.{i}."
        queries, keys, values = (part(f"{at}self_attn.{x}_proj") for x in "qkv")
        return LayerWeights(
            norm_1=part(at + "input_layernorm"),
            qkv=_together(_dealt(_turned(queries, shape.heads), shape), _turned(keys, shape.kv_heads), values),
            head_norm=head_norm(at),
            out=_gathered(part(at + "self_attn.o_proj"), shape),
            norm_2=part(at + "post_attention_layernorm"),
            inner=_together(part(at + "mlp.gate_proj"), part(at + "mlp.up_proj")),
            down=part(at + "mlp.down_proj"),
        )

    embedding = tensors["model.embed_tokens.weight"]
    head = Part(embedding) if shape.tied else part("lm_head")
    return ModelWeights(embedding, layer, part("model.norm"), head)


def _turned(part: Part, heads: int) -> Part:
    return Part(side_by_side(part.weight, heads), None if part.bias is None else side_by_side(part.bias, heads))


def _dealt(queries: Part, shape: Shape) -> Part:
    """Put the first query head of every key head first, then every second one: rows times groups is then one axis,
    and attention takes and leaves its values where they lie."""

    def deal(values: Tensor) -> Tensor:
        groups = values.view(shape.kv_heads, shape.group, shape.head_dim, *values.shape[1:])
        return groups.transpose(0, 1).reshape(values.shape)

    return Part(deal(queries.weight), None if queries.bias is None else deal(queries.bias))


def _gathered(out: Part, shape: Shape) -> Part:
    """The columns that match `_dealt` heads."""
    columns = out.weight.view(-1, shape.kv_heads, shape.group, shape.head_dim)
    return Part(columns.transpose(1, 2).reshape(out.weight.shape), out.bias)


def _together(*parts: Part) -> Part:
    biases = [part.bias for part in parts if part.bias is not None]
    return Part(torch.cat([part.weight for part in parts]), torch.cat(biases) if biases else None)
