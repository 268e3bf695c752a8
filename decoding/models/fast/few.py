"""Texts that have a few rows each: one call of a compiled kernel attends for all of them, where it is faster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from decoding.models.fast.kv import Cache, Rows, chain_rows
from decoding.models.fast.shape import Shape

FEW = 8  # rows of one text, up to which the kernel is faster
TRIED_ON = (8, 160)  # texts, slots
CLOSE = 1e-5  # error, relative to the greatest number
ROUNDS = 5  # of timing


class FewRows:
    """Rows of one pass that the kernel serves."""

    def __init__(self, kernel: Any, shape: Shape, parts: Sequence[tuple[int, Rows]]) -> None:
        """`parts` are texts, and the number of each one's first row in the pass."""
        self._kernel, self._kv_heads = kernel, shape.kv_heads
        texts = [
            (first, part.count, part.start, part.cache.values.data_ptr(), part.cache.slots) for first, part in parts
        ]
        self._texts = np.array(texts, np.int64)
        longest = max(part.start + part.count for _, part in parts)
        self._scores = np.empty((shape.group, longest), np.float32)
        self._bits = np.empty((shape.group, longest), np.int32)

    def attend(self, layer: int, queries: Tensor, fresh: Tensor, mixed: Tensor) -> None:
        """Write keys and values [rows, 2, kv_heads, head_dim], and attend with queries [rows, heads, head_dim] into
        `mixed` [rows, heads * head_dim]."""
        asked, new = (queries.data_ptr(), queries.stride(0)), (fresh.data_ptr(), fresh.stride(0))
        scratch = self._scores, self._bits, self._bits.view(np.float32)
        self._kernel(self._texts, layer, self._kv_heads, *asked, *new, mixed.data_ptr(), *scratch)


def kernel_for(shape: Shape) -> Any:
    """Return the kernel if it is right and faster than torch on this processor, else None."""
    key = shape.group, shape.head_dim, shape.kv_heads, torch.get_num_threads()
    if key not in _kernels:
        _kernels[key] = _better(replace(shape, layers=1, windows=(None,)))
    return _kernels[key]


_kernels: dict[tuple[int, ...], Any] = {}


def _better(shape: Shape) -> Any:
    try:
        from decoding.models.fast import numba_kernels
    except ImportError:  # a system that numba has no build for
        return None
    kernel, count, slots = numba_kernels.attention(shape.group, shape.head_dim), *TRIED_ON
    parts = [(number, chain_rows(_filled(shape, slots, number), shape, slots - 1, 1)) for number in range(count)]
    heads = _waves(count, shape.heads + 2 * shape.kv_heads, shape.head_dim)
    queries, fresh = heads[:, : shape.heads], heads[:, shape.heads :].view(count, 2, shape.kv_heads, shape.head_dim)
    few, mixed = FewRows(kernel, shape, parts), torch.empty(count, shape.heads * shape.head_dim)

    def ours() -> Tensor:
        few.attend(0, queries, fresh, mixed)
        return mixed

    def theirs() -> Tensor:
        for number, part in parts:
            part.write(0, fresh[number : number + 1])
        return torch.cat([part.attend(0, queries[number : number + 1]) for number, part in parts])

    off = (ours() - theirs()).abs().max() / theirs().abs().max()
    return kernel if off < CLOSE and _seconds(ours) < _seconds(theirs) else None


def _filled(shape: Shape, slots: int, number: int) -> Cache:
    found = Cache(shape, slots, torch.float32, torch.device("cpu"))
    found.values.copy_(_waves(*found.values.shape).add_(number))
    return found


def _waves(*size: int) -> Tensor:
    return torch.arange(math.prod(size), dtype=torch.float32).mul_(2.4).sin_().view(size)


def _seconds(work: Callable[[], Tensor]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)
