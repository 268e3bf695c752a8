"""Kernels that do in one launch what torch does in several. Triton compiles them at first use, for a GPU.

`fused` decides whether they are used.
"""

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
HOPPER = 232448, True  # limits of an H100
# Keys that a program attends to at once, and the stages of their loading, by preference
KEYS_AND_STAGES = ((64, 3), (64, 2), (32, 3), (32, 2), (16, 2))
MOST_ROWS = 64  # of queries in a program
FEWEST_ROWS = 16  # that it multiplies at once; of float32, more take registers that no GPU has
PROGRAMS = 256  # fill a large card: where texts and heads make fewer, several share the keys of a text
MOST_FEW = 16  # rows of a product, which a tensor core takes at once
WIDTH_AT_ONCE = 256  # of a matrix: 512 bytes of each of its rows in a row
SCORES_AT_ONCE = 4096  # that a program finds the best of
MOST_WARPS = 16


def norm(rows: Tensor, weight: Tensor, eps: float) -> Tensor:
    """[n, width], [width] -> [n, width]: root mean square norm."""
    rows, (count, width) = rows.contiguous(), rows.shape
    out, block = torch.empty_like(rows), triton.next_power_of_2(width)
    _norm[(count,)](rows, weight, out, width, eps, BLOCK=block, num_warps=min(MOST_WARPS, max(1, block // 256)))
    return out


def best(scores: Tensor) -> Tensor:
    """[n, V] -> [n]: the first best of each row, or -1 where that is NaN or infinite."""
    (count, size), device = scores.shape, scores.device
    parts = triton.cdiv(size, SCORES_AT_ONCE)
    tops = torch.empty(count, parts, device=device)
    ids, out = torch.empty_like(tops, dtype=torch.int32), torch.empty(count, dtype=torch.int64, device=device)
    _best_of_part[(count, parts)](scores, tops, ids, size, scores.stride(0), BLOCK=SCORES_AT_ONCE)
    _best_of_parts[(count,)](tops, ids, out, parts, PARTS=triton.next_power_of_2(parts), num_warps=1)
    return out


def gate(both: Tensor) -> Tensor:
    """[n, 2 * width] -> [n, width]: silu of the first half, times the second half."""
    rows, width = both.shape[0], both.shape[1] // 2
    out = torch.empty(rows, width, dtype=both.dtype, device=both.device)
    _gate[(rows, triton.cdiv(width, BLOCK))](both, out, width, BLOCK=BLOCK)
    return out


def place(
    heads: Tensor, turns: Tensor, slots: Tensor, storage: Tensor, *,
    head_norm: Tensor | None = None, eps: float = 0.0,
) -> Tensor:  # fmt: skip
    """Turn the queries and keys of heads [n, queries + 2 * kv_heads, head_dim] by complex turns [n, 1, head_dim / 2],
    normed before if there is a norm [queries + kv_heads, head_dim]. Write keys and values to their slots of storage
    [2, kv_heads, slots, head_dim], which has gaps if it is a place of a slab. Return the queries."""
    rows, count, width = heads.shape
    keys = storage.shape[1]
    queries = torch.empty(rows, count - 2 * keys, width, dtype=storage.dtype, device=heads.device)
    pairs = width // 2
    _place[(rows, count)](
        heads, torch.view_as_real(turns), heads if head_norm is None else head_norm, slots, storage, queries,
        count - 2 * keys, keys, eps, *storage.stride()[:3],
        PAIRS=pairs, PADDED=triton.next_power_of_2(pairs), NORMS=head_norm is not None,
    )  # fmt: skip
    return queries


def attend(queries: Tensor, storage: Tensor, positions: Tensor) -> Tensor:
    """Attend in chains, as `fused.AttendChains` says. Programs read only the keys that their rows see, each a part
    of them; a second launch combines what they found."""
    rows, heads, width = queries.shape
    _, kv_heads, texts, slots, _ = storage.shape
    own = rows // texts * heads // kv_heads  # queries of a text that share a key head
    item = storage.element_size()
    block = min(MOST_ROWS if item == 2 else FEWEST_ROWS, max(FEWEST_ROWS, triton.next_power_of_2(own)))
    crowd = texts * kv_heads * triton.cdiv(own, block)
    padded = max(16, triton.next_power_of_2(width))
    keys, stages = keys_and_stages(block, padded, item, *_limits(queries.device))
    parts = triton.next_power_of_2(min(triton.cdiv(slots, keys), max(1, PROGRAMS // crowd)))
    found = torch.empty(parts, rows * heads, width, dtype=torch.float32, device=queries.device)
    weights = torch.empty(2, parts, rows * heads, dtype=torch.float32, device=queries.device)
    out = torch.empty(rows, heads * width, dtype=storage.dtype, device=queries.device)
    _attend_to_part[(texts * kv_heads, parts, triton.cdiv(own, block))](
        queries, storage, positions, found, weights, rows // texts, heads // kv_heads, kv_heads,
        width**-0.5, queries.stride(0), *storage.stride()[:4],
        WIDTH=width, PADDED=padded, ROWS=block, BLOCK=keys, num_stages=stages,
    )  # fmt: skip
    _combine[(rows * heads,)](found, weights, out, rows * heads, WIDTH=width, PADDED=padded, PARTS=parts)
    return out


def product(rows: Tensor, weight: Tensor, bias: Tensor | None, *, tile: int, residual: Tensor | None = None) -> Tensor:
    """Multiply a few rows [n, width] by a weight [size, width], and add the product to the residual if there is one. A
    program makes `tile` outputs of all rows, so a row's numbers do not depend on the others."""
    assert weight.is_contiguous() and (residual is None or residual.is_contiguous())
    rows, (count, width) = rows.contiguous(), rows.shape
    size = len(weight)
    out = torch.empty(count, size, dtype=rows.dtype, device=rows.device) if residual is None else residual
    _product[(triton.cdiv(size, tile),)](
        rows, weight, weight if bias is None else bias, out, count, width, size,
        ROWS=MOST_FEW, TILE=tile, BLOCK=WIDTH_AT_ONCE, HAS_BIAS=bias is not None, ADDS=residual is not None,
        num_stages=4,
    )  # fmt: skip
    return out


@triton.jit(do_not_specialize=["count", "size"])
def _product(
    given, weight, bias, out, count, width, size, ROWS: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
    HAS_BIAS: tl.constexpr, ADDS: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    row = tl.arange(0, ROWS)
    is_row, is_number = (row < count)[:, None], (number < size)[:, None]
    found = tl.zeros([ROWS, TILE], tl.float32)
    for start in range(0, width, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        inside = column < width
        part = tl.load(given + row[:, None] * width + column, mask=is_row & inside, other=0.0)
        there = weight + number.to(tl.int64)[:, None] * width + column
        found = tl.dot(part, tl.trans(tl.load(there, mask=is_number & inside, other=0.0)), found)
    if HAS_BIAS:
        found += tl.load(bias + number, mask=number < size, other=0.0).to(tl.float32)[None, :]
    at = out + row[:, None] * size + number[None, :]
    is_out = is_row & (number < size)[None, :]
    if ADDS:
        found += tl.load(at, mask=is_out, other=0.0).to(tl.float32)
    tl.store(at, found, mask=is_out)


def keys_and_stages(rows: int, width: int, item: int, shared: int, has_wgmma: bool) -> tuple[int, int]:
    """Choose as many keys and stages as the shared memory of a program holds, in bytes. If none fits, the compiler
    refuses the last."""
    is_direct = has_wgmma and rows == MOST_ROWS and item == 2
    for keys, stages in KEYS_AND_STAGES:
        scores = 0 if is_direct else rows * (item * keys + 16)
        buffers = stages if is_direct else stages - 1
        if item * width * (2 * buffers * keys + rows) + scores <= shared:
            break
    return keys, stages


@cache
def _limits(device: torch.device) -> tuple[int, bool]:
    """Return the shared memory that a program may have, in bytes, and whether large products read from it (wgmma)."""
    if device.type == "cpu":  # Triton's interpreter has no limit
        return HOPPER
    properties = triton.runtime.driver.active.utils.get_device_properties(device.index)
    return int(properties["max_shared_mem"]), torch.cuda.get_device_capability(device)[0] == 9


@triton.jit(do_not_specialize=["rows", "group", "kv_heads"])
def _attend_to_part(
    queries, storage, positions, found, weights, rows, group, kv_heads, scale, by_row, by_kind,
    by_head, by_text, by_slot, WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    text, head = (tl.program_id(0) // kv_heads).to(tl.int64), (tl.program_id(0) % kv_heads).to(tl.int64)
    number = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
    is_row = number < rows * group
    row = text * rows + number // group
    place = number % group * kv_heads + head  # of the query among the row's
    position = tl.load(positions + row, mask=is_row, other=-1).to(tl.int32)
    begin, end = _part(position, BLOCK)
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    is_number = is_row[:, None] & inside[None, :]
    at = queries + row[:, None] * by_row + place[:, None] * WIDTH + column[None, :]
    query = tl.load(at, mask=is_number, other=0.0)
    top, total = tl.full([ROWS], float("-inf"), tl.float32), tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(begin, end, BLOCK):
        slot = start + tl.arange(0, BLOCK)
        there = storage + head * by_head + text * by_text + slot.to(tl.int64)[:, None] * by_slot + column[None, :]
        is_there = (slot < end)[:, None] & inside[None, :]
        key = tl.load(there, mask=is_there, other=0.0)
        value = tl.load(there + by_kind, mask=is_there, other=0.0)
        is_seen = (slot[None, :] <= position[:, None]) & (slot < end)[None, :]
        top, total, mixed = _attend_to_block(query, key, value, is_seen, scale, top, total, mixed)
    count = tl.num_programs(0).to(tl.int64) * rows * group  # of all queries
    own = tl.program_id(1) * count + row * group * kv_heads + place
    tl.store(weights + own, top, mask=is_row)
    tl.store(weights + tl.num_programs(1) * count + own, total, mask=is_row)
    tl.store(found + own[:, None] * WIDTH + column[None, :], mixed, mask=is_number)


@triton.jit
def _part(position, BLOCK: tl.constexpr):
    """Divide the keys that these rows see into whole blocks for each program, and return where this one's lie."""
    end = tl.max(position, 0) + 1
    each = tl.cdiv(tl.cdiv(end, tl.num_programs(1)), BLOCK) * BLOCK
    begin = tl.program_id(1) * each
    return begin, tl.minimum(begin + each, end)


@triton.jit
def _attend_to_block(query, key, value, is_seen, scale, top, total, mixed):
    """Go on with a softmax that is not divided yet."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    scores = tl.where(is_seen, scores, float("-inf"))
    new_top = tl.maximum(top, tl.max(scores, 1))
    steady = tl.where(new_top == float("-inf"), 0.0, new_top)  # a row may see none of these keys
    share, fade = tl.exp(scores - steady[:, None]), tl.exp(top - steady)
    more = tl.dot(share.to(value.dtype), value, input_precision="ieee")
    return new_top, total * fade + tl.sum(share, 1), mixed * fade[:, None] + more


@triton.jit
def _combine(
    found, weights, out, count, WIDTH: tl.constexpr, PADDED: tl.constexpr, PARTS: tl.constexpr
):  # fmt: skip
    query = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    tops = tl.load(weights + part * count + query)
    weight = tl.exp(tops - tl.max(tops, 0))
    total = tl.sum(weight * tl.load(weights + (PARTS + part) * count + query), 0)
    at = found + (part * count + query)[:, None] * WIDTH + column[None, :]
    mixed = tl.load(at, mask=inside[None, :], other=0.0)
    tl.store(out + query * WIDTH + column, tl.sum(mixed * weight[:, None], 0) / total, mask=inside)


@triton.jit
def _gate(both, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    first = both + row * 2 * width + column
    opened = tl.load(first, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(first + width, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + column, opened * tl.sigmoid(opened) * value, mask=inside)


@triton.jit(do_not_specialize=["query_heads", "kv_heads"])
def _place(
    heads, turns, head_norm, slots, storage, queries, query_heads, kv_heads, eps, by_kind, by_head, by_slot,
    PAIRS: tl.constexpr, PADDED: tl.constexpr, NORMS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    pair = tl.arange(0, PADDED)
    inside = pair < PAIRS
    source = heads + (row * (query_heads + 2 * kv_heads) + head) * 2 * PAIRS + 2 * pair
    even = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    odd = tl.load(source + 1, mask=inside, other=0.0).to(tl.float32)
    is_turned = head < query_heads + kv_heads
    if NORMS:
        length = tl.rsqrt((tl.sum(even * even, 0) + tl.sum(odd * odd, 0)) / (2 * PAIRS) + eps)
        weight = head_norm + head * 2 * PAIRS + 2 * pair
        even *= tl.where(is_turned, length * tl.load(weight, mask=inside & is_turned, other=0.0), 1.0)
        odd *= tl.where(is_turned, length * tl.load(weight + 1, mask=inside & is_turned, other=0.0), 1.0)
    by = turns + (row * PAIRS + pair) * 2
    cosine = tl.where(is_turned, tl.load(by, mask=inside, other=1.0), 1.0)
    sine = tl.where(is_turned, tl.load(by + 1, mask=inside, other=0.0), 0.0)
    new_even, new_odd = even * cosine - odd * sine, even * sine + odd * cosine
    own = queries + (row * query_heads + head) * 2 * PAIRS + 2 * pair
    is_query = inside & (head < query_heads)
    tl.store(own, new_even, mask=is_query)
    tl.store(own + 1, new_odd, mask=is_query)
    # Keys come first in the storage, then values, as they do among the heads.
    own_head = (head - query_heads).to(tl.int64)
    place = own_head // kv_heads * by_kind + own_head % kv_heads * by_head + tl.load(slots + row) * by_slot
    stored = storage + place + 2 * pair
    is_stored = inside & (head >= query_heads)
    tl.store(stored, new_even, mask=is_stored)
    tl.store(stored + 1, new_odd, mask=is_stored)


@triton.jit
def _norm(given, weight, out, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    value = tl.load(given + row * width + column, mask=inside, other=0.0).to(tl.float32)
    value *= tl.rsqrt(tl.sum(value * value, 0) / width + eps)
    tl.store(out + row * width + column, value * tl.load(weight + column, mask=inside, other=0.0), mask=inside)


@triton.jit
def _best_of_part(scores, tops, ids, size, by_row, BLOCK: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    column = part * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(scores + row * by_row + column, mask=column < size, other=float("-inf")).to(tl.float32)
    top, at = tl.max(tl.where(value == value, value, float("inf")), 0, return_indices=True)
    tl.store(tops + row * tl.num_programs(1) + part, top)
    tl.store(ids + row * tl.num_programs(1) + part, part * BLOCK + at)


@triton.jit
def _best_of_parts(tops, ids, out, count, PARTS: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.arange(0, PARTS)
    value = tl.load(tops + row * count + part, mask=part < count, other=float("-inf"))
    top, at = tl.max(value, 0, return_indices=True)
    is_finite = (top > float("-inf")) & (top < float("inf"))
    tl.store(out + row, tl.where(is_finite, tl.load(ids + row * count + at), -1))
