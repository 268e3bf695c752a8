"""A whole pass in one call, for models whose matrices lie in tiles: no Python between its first layer and its last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from decoding.models.fast.crew import GIVEN, SIZE, Crewed, crew_size, meet, share, take
from decoding.models.fast.linear import Tiled
from decoding.models.fast.numba_kernels import attend_for, floats_at, gate, norm, numbers_at
from decoding.models.fast.shape import Shape
from decoding.models.fast.tiles import WIDTH, product


class Whole:
    """Takes rows of texts through all layers."""

    def __init__(self, shape: Shape, layers: Sequence[tuple[int | Tiled, ...]]) -> None:
        """A layer is the weight of its first norm, its matrices for queries, keys and values, the weight of heads, the
        matrix that follows attention, the weight of its second norm, and its two inner matrices."""
        self._shape = shape
        self._matrices = [part for layer in layers for part in layer if isinstance(part, Tiled)]
        self._together = _together(self._matrices)
        self._read, self._item = self._together.nbytes, self._matrices[0].weights.element_size()
        self._eps = int(np.float32(shape.norm_eps).view(np.int32))
        self._layers = np.array([list(_addresses(layer)) for layer in layers])
        self._run = _through(shape.group, shape.head_dim)

    def layered(self, hidden: Tensor, turns: Tensor, texts: np.ndarray, longest: int) -> Tensor:
        """`texts` are those of `numba_kernels.attend_for`. `hidden` is used up."""
        shape, count, threads = self._shape, len(hidden), crew_size(self._read)
        heads, mixed = (shape.heads + 2 * shape.kv_heads) * shape.head_dim, shape.heads * shape.head_dim
        shared = count * np.array((0, heads, mixed, shape.hidden, 2 * shape.inner, shape.inner))
        each_thread = count * (2 * shape.hidden + max(shape.hidden, mixed, shape.inner))
        each_thread += max(2 * shape.group * longest, shape.inner)
        space = hidden.new_empty(int(shared.sum()) + threads * each_thread)
        given = (
            *(self._layers.ctypes.data, len(self._layers), texts.ctypes.data, len(texts)),
            *(hidden.data_ptr(), turns.data_ptr()),
            *(count, shape.hidden, shape.inner, shape.kv_heads, longest, self._item, each_thread, self._eps),
            *(space.data_ptr() + 4 * shared.cumsum()),
        )
        self._run(self._read, given)
        return hidden


def _together(matrices: Sequence[Tiled]) -> np.ndarray:
    """Move all matrices into one block of memory, which the system maps in large pages: a pass reads them in turn."""
    block = np.empty(sum(matrix.weights.nbytes for matrix in matrices) + 64, np.uint8)
    at = -block.ctypes.data % 64
    for matrix in matrices:
        place = torch.from_numpy(block[at : at + matrix.weights.nbytes]).view(matrix.weights.dtype)
        matrix.weights = place.copy_(matrix.weights.view(-1))
        at += matrix.weights.nbytes
    return block


def _addresses(layer: Sequence[int | Tiled]) -> Iterator[int]:
    for part in layer:
        if isinstance(part, int):
            yield part
        else:
            yield part.weights.data_ptr()
            yield 0 if part.bias is None else part.bias.data_ptr()


@cache
def _through(group: int, size: int) -> Crewed:
    def make(sources: int) -> Any:
        return _entry(group, size, sources)

    return Crewed(make)


def _entry(group: int, size: int, sources: int) -> Any:
    def through(numbers):
        """Each thread norms all rows for itself, and does its share of the rest."""
        if not sources:
            return
        me, everything = take(numbers), numba.carray(numbers_at(numbers), (GIVEN + 20,))
        crew, given = everything[SIZE], everything[GIVEN:]
        layers = numba.carray(numbers_at(given[0]), (given[1], 11))
        texts = numba.carray(numbers_at(given[2]), (given[3], 7))
        rows, turns, count, width, inner, kv_heads, longest, item, each_thread = given[4:13]
        eps = floats_at(numbers + 8 * (GIVEN + 13))[0]
        heads, mixed, made, both, gated, own = given[14:]
        hidden = own + 4 * me * each_thread
        normed, turned = hidden + 4 * count * width, hidden + 8 * count * width
        scratch = turned + 4 * count * max(width, group * kv_heads * size, inner)
        sizes = count, width, inner, kv_heads, longest, item, group, size
        shared, private = (heads, mixed, made, both, gated), (hidden, normed, turned, scratch)
        copy(rows, hidden, count * width)
        for layer in range(len(layers)):
            through_one(numbers, me, crew, layer, layers[layer], texts, turns, eps, sizes, shared, private)
        if not me:
            add(hidden, made, count * width)
            copy(hidden, rows, count * width)

    return through


@numba.njit(inline="always")
def through_one(numbers, me, crew, layer, weights, texts, turns, eps, sizes, shared, private):
    """Leave what the layer adds to the hidden rows in `made`, for all to add."""
    count, width, inner, kv_heads, longest, item, group, size = sizes
    heads, mixed, made, both, gated = shared
    hidden, normed, turned, scratch = private
    norm_1, qkv, qkv_bias, head_norm, out, out_bias, norm_2, up, up_bias, down, down_bias = weights
    asked, found = (group + 2) * kv_heads * size, group * kv_heads * size
    norm(hidden, made if layer else 0, norm_1, normed, count, width, eps)
    first, last = share(me, crew, asked // WIDTH)
    multiply(normed, qkv, qkv_bias, item, heads, count, width, asked, turned, first, last)
    meet(numbers, crew)
    attend_for(texts, layer, kv_heads, heads, turns, head_norm, eps, mixed, scratch, longest, group, size, me, crew)
    meet(numbers, crew)
    start, end = share(me, crew, width // WIDTH)
    multiply(mixed, out, out_bias, item, made, count, found, width, turned, start, end)
    meet(numbers, crew)
    norm(hidden, made, norm_2, normed, count, width, eps)
    gates = inner // WIDTH
    first, last = share(me, crew, gates)
    multiply(normed, up, up_bias, item, both, count, width, 2 * inner, turned, first, last)
    multiply(normed, up, up_bias, item, both, count, width, 2 * inner, turned, gates + first, gates + last)
    gate(both, gated, scratch, count, inner, WIDTH * first, WIDTH * last)
    meet(numbers, crew)
    multiply(gated, down, down_bias, item, made, count, inner, width, turned, start, end)
    meet(numbers, crew)


@numba.njit(inline="always")
def multiply(rows, weights, bias, item, out, count, width, size, turned, first, last):
    product(rows, weights, item, out, count, width, size, turned, first, last)
    if bias:
        start = 4 * WIDTH * first
        for row in range(count):
            add(out + 4 * row * size + start, bias + start, WIDTH * (last - first))


@numba.njit(inline="always")
def add(numbers, more, count):
    own, others = numba.carray(floats_at(numbers), (count,)), numba.carray(floats_at(more), (count,))
    for place in range(count):
        own[place] += others[place]


@numba.njit(inline="always")
def copy(numbers, to, count):
    own, others = numba.carray(floats_at(numbers), (count,)), numba.carray(floats_at(to), (count,))
    for place in range(count):
        others[place] = own[place]
