"""The forward pass: ids to logits, for the rows that `Rows` describes. It keeps no state and knows no text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.fused import Kernels, rms_norm
from decoding.models.fast.linear import Adding, Apply, Layout, Linear, Summing, prepare, prepare_adding
from decoding.models.fast.rope import turn, turns
from decoding.models.fast.shape import Shape
from decoding.models.fast.weights import LayerWeights, ModelWeights, Part

FIRST_TURNS = 8192  # positions

Laid = TypeVar("Laid")  # a matrix, laid out to multiply rows


class KvSlots(Protocol):
    """The slots that one pass writes its keys and values to, and those that its rows see."""

    @property
    def positions(self) -> slice | Tensor: ...

    def write(self, layer: int, keys_and_values: Tensor) -> None: ...

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        """[rows, heads, head_dim] -> [rows, heads * head_dim]"""


@dataclass(frozen=True, slots=True)
class Layer:
    norm_1: RmsNorm | SmallNorm
    qkv: Apply
    head_norm: Tensor | None
    out: Adding | Summing
    norm_2: RmsNorm | SmallNorm
    inner: Apply
    down: Adding | Summing


class Decoder:
    def __init__(
        self,
        shape: Shape,
        weights: ModelWeights,
        layout: Layout,
        context: int,
        device: torch.device,
        kernels: Kernels | None = None,
    ) -> None:
        self.shape = shape
        self.kernels = kernels or Kernels()
        self.layout = layout
        self.device = device
        self.embedding = weights.embedding.to(device)  # as on disk: only a row or two of it is read per pass
        self.context = context
        self.turns = torch.empty(0)
        self.reach(context if device.type == "cuda" else min(context, FIRST_TURNS))  # graphs cannot see it grow
        self.layers = [self._layer(weights.layer(i)) for i in range(shape.layers)]
        self.norm = self._norm(weights.norm)
        is_tied = weights.head.weight is weights.embedding  # then both are one tensor on the device too
        self.head = self._laid(prepare, Part(self.embedding) if is_tied else weights.head)

    def __call__(self, ids: Tensor, memory: KvSlots, need: int | Tensor) -> Tensor:
        """Ids [rows] -> float32 logits [need, V], those of the last `need` rows, or of the rows that `need` lists."""
        return self.logits(self.layered(*self.embedded(ids, memory), memory), need)

    def embedded(self, ids: Tensor, memory: KvSlots) -> tuple[Tensor, Tensor]:
        """Return the rows that enter the layers, and by what each position turns."""
        return F.embedding(ids, self.embedding).to(self.layout.dtype), self.turns[memory.positions]

    def layered(self, hidden: Tensor, turns: Tensor, memory: KvSlots) -> Tensor:
        """Take rows [rows, hidden] through all layers."""
        tile = self.kernels.tiles_for(len(hidden)).get
        for number, layer in enumerate(self.layers):
            heads = self.multiplied(layer.qkv, self.normed(layer.norm_1, hidden), tile("qkv"))
            attended = memory.attend(number, self.place(number, layer, heads, turns, memory))
            hidden = self.added(layer.out, attended.to(self.layout.dtype), hidden, tile("out"))
            both = self.multiplied(layer.inner, self.normed(layer.norm_2, hidden), tile("inner"))
            hidden = self.added(layer.down, self.gated(both), hidden, tile("down"))
        return hidden

    def normed(self, norm: RmsNorm | SmallNorm, rows: Tensor) -> Tensor:
        kernel = self.kernels.norm
        return kernel(rows, norm.weight, norm.eps) if kernel and isinstance(norm, RmsNorm) else norm(rows)

    def gated(self, both: Tensor) -> Tensor:
        kernel, width = self.kernels.gate, self.shape.inner
        return kernel(both) if kernel else F.silu(both[:, :width], inplace=True).mul_(both[:, width:])

    # With a tile, a product is a launch of our kernel.

    def multiplied(self, product: Apply, rows: Tensor, tile: int | None) -> Tensor:
        return product(rows) if tile is None else self._tiled(product, rows, tile)

    def added(self, product: Adding | Summing, rows: Tensor, residual: Tensor, tile: int | None) -> Tensor:
        return product(rows, residual) if tile is None else self._tiled(product, rows, tile, residual)

    def _tiled(self, product: object, rows: Tensor, tile: int, residual: Tensor | None = None) -> Tensor:
        assert self.kernels.product and isinstance(product, Linear | Summing)
        return self.kernels.product(rows, product.weight, product.bias, tile=tile, residual=residual)

    def logits(self, hidden: Tensor, need: int | Tensor) -> Tensor:
        needed = hidden[len(hidden) - need :] if isinstance(need, int) else hidden[need]
        tile = self.kernels.tiles_for(len(needed)).get("head")
        return self.multiplied(self.head, self.normed(self.norm, needed), tile).float()

    def place(self, number: int, layer: Layer, mixed: Tensor, turns: Tensor, memory: KvSlots) -> Tensor:
        """Norm and turn queries and keys, write keys and values, and return the queries. The arithmetic is float32,
        whatever the linear layers use."""
        shape, kernel = self.shape, self.kernels.place
        heads = mixed.view(-1, shape.heads + 2 * shape.kv_heads, shape.head_dim)
        if kernel:
            static: Any = memory  # a `StaticPass`: no others have kernels
            slots, storage = static.slots, static.storage(number)
            return kernel(heads, turns, slots, storage, head_norm=layer.head_norm, eps=shape.norm_eps)
        heads = heads.float()
        turned = heads[:, : shape.heads + shape.kv_heads]
        if layer.head_norm is not None:
            normed = F.rms_norm(turned, (shape.head_dim,), None, shape.norm_eps)
            torch.mul(normed, layer.head_norm, out=turned)
        turn(turned, turns)
        if self.layout.is_fused:
            heads = heads.to(self.layout.dtype)  # as the cache has it: one launch for queries, keys and values
        memory.write(number, heads[:, shape.heads :].view(-1, 2, shape.kv_heads, shape.head_dim))
        return heads[:, : shape.heads]

    def reach(self, positions: int) -> None:
        """Make turns for so many positions. The table for all that a config claims may take more than the model."""
        there = len(self.turns)
        if positions > there:
            count = min(self.context, max(positions, 2 * there))
            self.turns = turns(self.shape.rope, self.shape.head_dim, count).to(self.device)

    def _layer(self, weights: LayerWeights) -> Layer:
        head_norm = weights.head_norm
        return Layer(
            norm_1=self._norm(weights.norm_1),
            qkv=self._laid(prepare, weights.qkv),
            head_norm=None if head_norm is None else head_norm.to(self.device, torch.float32),
            out=self._laid(prepare_adding, weights.out),
            norm_2=self._norm(weights.norm_2),
            inner=self._laid(prepare, weights.inner),
            down=self._laid(prepare_adding, weights.down),
        )

    def _laid(self, prepared: Callable[[Tensor, Tensor | None, Layout], Laid], part: Part) -> Laid:
        bias = None if part.bias is None else part.bias.to(self.device)
        return prepared(part.weight.to(self.device), bias, self.layout)

    def _norm(self, part: Part) -> RmsNorm | SmallNorm:
        eps, dtype = self.shape.norm_eps, self.layout.dtype
        weight = part.weight.to(self.device, dtype)
        if self.device.type == "cpu" and dtype == torch.float32:
            return SmallNorm(weight, eps)
        return RmsNorm(weight, eps)


@dataclass(frozen=True, slots=True)
class RmsNorm:
    weight: Tensor
    eps: float

    def __call__(self, rows: Tensor) -> Tensor:
        return rms_norm(rows, self.weight, self.eps)


class SmallNorm:
    """A norm for a few rows on a CPU. It takes 2/3 of the time of `F.rms_norm`, a chain of calls there."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        self.weight, self.eps = weight.contiguous(), eps
        self._offset, self._share = torch.tensor(eps), 1.0 / weight.numel()

    def __call__(self, rows: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(rows, 2, -1, True)
        return torch.mul(rows, torch.addcmul(self._offset, length, length, value=self._share).rsqrt_()).mul_(
            self.weight
        )
