"""Layers of passes with few rows on a CPU: torch multiplies matrices, and compiled kernels do all between the products.

Such a pass is hundreds of small operations, and torch's share of each is larger than the arithmetic of a small model.
Where tiles cover all matrices, compiled code does the products too, and the pass is one call (`whole`). The decoder
runs passes that the kernels do not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from decoding.models.fast.decoder import Decoder, KvSlots, Layer
from decoding.models.fast.kv import Rows
from decoding.models.fast.linear import Adding, Apply, Tiled

if TYPE_CHECKING:
    from decoding.models.fast.whole import Whole

FEW = 8  # rows of one text, up to which a kernel attends faster than torch with several threads
SHORT = 512  # slots of a text, up to which the kernel attends as fast for any number of rows
BRANCHES = 16  # rows that do not all see the same slots, if the whole pass is one call
CLOSE = 1e-4  # error of the last hidden rows, relative to the greatest number
MOST_FOR_ONE = 1 << 14  # products of queries and keys in a layer; torch divides more than that among its threads


class Lean:
    """Runs a decoder's layers, for all texts of a model."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._kernels: CpuKernels | None = None
        self._can_be_tried = decoder.device.type == "cpu" and decoder.layout.dtype == torch.float32

    def layered(self, hidden: Tensor, turns: Tensor, parts: Sequence[Rows], memory: KvSlots) -> Tensor:
        """Take the rows of all parts through all layers. `memory` is that of their pass."""
        if self._takes(parts):
            if self._can_be_tried:
                return self._try(hidden, turns, parts, memory)
            if self._kernels:
                return self._kernels.layered(hidden, turns, parts)
        return self._decoder.layered(hidden, turns, memory)

    def _takes(self, parts: Sequence[Rows]) -> bool:
        if self._kernels and self._kernels.takes_whole(parts):
            return True
        if not all(map(has_few, parts)):
            return False
        asked = sum(part.count * (part.start + part.count) for part in parts) * self._decoder.shape.heads
        return asked <= MOST_FOR_ONE or torch.get_num_threads() == 1

    def _try(self, hidden: Tensor, turns: Tensor, parts: Sequence[Rows], memory: KvSlots) -> Tensor:
        """Compile the kernels, and keep them if they give the decoder's numbers."""
        self._can_be_tried = False
        expected = self._decoder.layered(hidden.clone(), turns, memory)
        try:
            kernels = CpuKernels(self._decoder)
            found = kernels.layered(hidden, turns, parts)
        except Exception:  # whatever a compiler, or a missing one, fails with: torch needs neither
            return expected
        if (found - expected).abs().max() > CLOSE * expected.abs().max():
            return expected
        self._kernels = kernels
        return found


def has_few(part: Rows) -> bool:
    return part.tree_mask is None and part.count <= FEW


def is_short(part: Rows) -> bool:
    return part.tree_mask is None and part.start + part.count <= SHORT


def is_small(part: Rows) -> bool:
    """Say whether this is a small tree, or a step of a few branches."""
    return part.tree_mask is not None and part.count <= BRANCHES


class Weights(NamedTuple):
    """One layer, as the kernels see it. Norms and the weight of heads are addresses."""

    norm_1: int
    qkv: Apply
    head_norm: int
    out: Apply
    norm_2: int
    inner: Apply
    down: Apply

    @classmethod
    def of(cls, layer: Layer) -> Weights:
        assert isinstance(layer.out, Adding) and isinstance(layer.down, Adding)
        head_norm = 0 if layer.head_norm is None else layer.head_norm.data_ptr()
        first, second = (norm.weight.data_ptr() for norm in (layer.norm_1, layer.norm_2))
        return cls(first, layer.qkv, head_norm, layer.out.product, second, layer.inner, layer.down.product)


class CpuKernels:
    def __init__(self, decoder: Decoder) -> None:
        from decoding.models.fast import numba_kernels

        shape = decoder.shape
        self._shape, self._layers = shape, [Weights.of(layer) for layer in decoder.layers]
        self._norm, self._gate = numba_kernels.norm, numba_kernels.gate
        self._attend = numba_kernels.attention(shape.group, shape.head_dim)
        self._whole = _whole(decoder, self._layers)

    def layered(self, hidden: Tensor, turns: Tensor, parts: Sequence[Rows]) -> Tensor:
        """Take rows through all layers. `hidden` is used up."""
        shape, count = self._shape, len(hidden)
        texts, longest = _texts(parts), max(part.start + part.count for part in parts)
        if self._whole and self.takes_whole(parts):
            return self._whole.layered(hidden, turns, texts, longest)
        normed, mixed = torch.empty_like(hidden), hidden.new_empty(count, shape.heads * shape.head_dim)
        gated = hidden.new_empty(count, shape.inner)
        scratch = hidden.new_empty(max(2 * shape.group * longest, shape.inner))
        to_normed, to_mixed, to_scratch = normed.data_ptr(), mixed.data_ptr(), scratch.data_ptr()
        rows, turned = hidden.data_ptr(), turns.data_ptr()
        size, eps, product = shape.hidden, shape.norm_eps, hidden
        for number, layer in enumerate(self._layers):
            self._norm(rows, product.data_ptr() if number else 0, layer.norm_1, to_normed, count, size, eps)
            heads = layer.qkv(normed)
            asked = heads.data_ptr(), turned, layer.head_norm, eps
            self._attend(texts, number, shape.kv_heads, *asked, to_mixed, to_scratch, longest)
            product = layer.out(mixed)
            self._norm(rows, product.data_ptr(), layer.norm_2, to_normed, count, size, eps)
            both = layer.inner(normed)
            self._gate(both.data_ptr(), gated.data_ptr(), to_scratch, count, shape.inner, 0, shape.inner)
            product = layer.down(gated)
        return hidden.add_(product)

    def takes_whole(self, parts: Sequence[Rows]) -> bool:
        """Say whether this pass is one call."""
        return self._whole is not None and all(has_few(part) or is_short(part) or is_small(part) for part in parts)


def _whole(decoder: Decoder, layers: Sequence[Weights]) -> Whole | None:
    """Return what takes a pass through all layers in one call, if tiles cover all matrices."""
    matrices = [part for layer in layers for part in layer if not isinstance(part, int)]
    tiled = [matrix for matrix in matrices if isinstance(matrix, Tiled)]
    if len(tiled) < len(matrices) or len({matrix.weights.dtype for matrix in tiled}) > 1:
        return None
    from decoding.models.fast.tiles import WIDTH
    from decoding.models.fast.whole import Whole

    return None if decoder.shape.inner % WIDTH else Whole(decoder.shape, layers)  # type: ignore[arg-type]  # all are tiled


def _texts(parts: Sequence[Rows]) -> np.ndarray:
    """Describe the texts as `numba_kernels.attend_for` takes them."""
    texts, first = [], 0
    for part in parts:
        mask = part.tree_mask
        hidden = (0, 0) if mask is None else (mask.data_ptr(), mask.shape[1])
        texts.append((first, part.count, part.start, part.cache.values.data_ptr(), part.cache.slots, *hidden))
        first += part.count
    return np.array(texts, np.int64)
