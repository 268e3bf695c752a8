"""Kernels that do in one launch what torch does in several. Triton compiles them at first use, for a GPU.

`fused` decides whether they are used.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024


def gate(both: Tensor) -> Tensor:
    """[n, 2 * width] -> [n, width]: silu of the first half, times the second half."""
    rows, width = both.shape[0], both.shape[1] // 2
    out = torch.empty(rows, width, dtype=both.dtype, device=both.device)
    _gate[(rows, triton.cdiv(width, BLOCK))](both, out, width, BLOCK=BLOCK)
    return out


def place(heads: Tensor, turns: Tensor, slots: Tensor, storage: Tensor) -> Tensor:
    """Turn the queries and keys of heads [n, queries + 2 * kv_heads, head_dim] by complex turns [n, 1, head_dim / 2].
    Write keys and values to their slots of storage [2, kv_heads, slots, head_dim], which has gaps if it is a place of a
    slab. Return the queries."""
    rows, count, width = heads.shape
    keys = storage.shape[1]
    queries = torch.empty(rows, count - 2 * keys, width, dtype=storage.dtype, device=heads.device)
    pairs = width // 2
    _place[(rows, count)](
        heads, torch.view_as_real(turns), slots, storage, queries, *storage.stride()[:3],
        QUERIES=count - 2 * keys, KEYS=keys, PAIRS=pairs, PADDED=triton.next_power_of_2(pairs),
    )  # fmt: skip
    return queries


@triton.jit
def _gate(both, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    first = both + row * 2 * width + column
    opened = tl.load(first, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(first + width, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + column, opened * tl.sigmoid(opened) * value, mask=inside)


@triton.jit
def _place(
    heads, turns, slots, storage, queries, by_kind, by_head, by_slot,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, PAIRS: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    pair = tl.arange(0, PADDED)
    inside = pair < PAIRS
    source = heads + (row * (QUERIES + 2 * KEYS) + head) * 2 * PAIRS + 2 * pair
    even = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    odd = tl.load(source + 1, mask=inside, other=0.0).to(tl.float32)
    by = turns + (row * PAIRS + pair) * 2
    is_turned = head < QUERIES + KEYS
    cosine = tl.where(is_turned, tl.load(by, mask=inside, other=1.0), 1.0)
    sine = tl.where(is_turned, tl.load(by + 1, mask=inside, other=0.0), 0.0)
    new_even, new_odd = even * cosine - odd * sine, even * sine + odd * cosine
    own = queries + (row * QUERIES + head) * 2 * PAIRS + 2 * pair
    is_query = inside & (head < QUERIES)
    tl.store(own, new_even, mask=is_query)
    tl.store(own + 1, new_odd, mask=is_query)
    # Keys come first in the storage, then values, as they do among the heads.
    own_head = (head - QUERIES).to(tl.int64)
    place = own_head // KEYS * by_kind + own_head % KEYS * by_head + tl.load(slots + row) * by_slot
    stored = storage + place + 2 * pair
    is_stored = inside & (head >= QUERIES)
    tl.store(stored, new_even, mask=is_stored)
    tl.store(stored + 1, new_odd, mask=is_stored)
