"""Texts with a few rows each, attended by one call of a compiled kernel: the numbers of torch, text by text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from decoding.models.fast.few import FewRows
from decoding.models.fast.kv import Cache, Rows, chain_rows
from decoding.models.fast.numba_kernels import attention
from decoding.models.fast.shape import Shape

LAYERS = 2


def shape_with(heads: int, kv_heads: int, head_dim: int) -> Shape:
    return Shape(
        "llama", 50, 100, LAYERS, 64, heads, kv_heads, head_dim, 64, "silu", 1e-6, False, None, (None,) * LAYERS
    )


def texts_of(shape: Shape, lengths: Sequence[tuple[int, int]]) -> list[tuple[int, Rows]]:
    """Texts of so many tokens that get so many rows, and the number of each one's first row."""
    found, first = [], 0
    for number, (length, count) in enumerate(lengths):
        cache = Cache(shape, 64 + number, torch.float32, torch.device("cpu"))
        torch.manual_seed(number)
        cache.values.normal_()
        found.append((first, chain_rows(cache, shape, length, count)))
        first += count
    return found


def heads_of(shape: Shape, rows: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(9)
    heads = torch.randn(rows, shape.heads + 2 * shape.kv_heads, shape.head_dim)
    return heads[:, : shape.heads], heads[:, shape.heads :].view(rows, 2, shape.kv_heads, shape.head_dim)


def by_kernel(shape: Shape, parts: Sequence[tuple[int, Rows]], queries: Tensor, fresh: Tensor, layer: int) -> Tensor:
    mixed = torch.full((len(queries), shape.heads * shape.head_dim), torch.nan)
    FewRows(attention(shape.group, shape.head_dim), shape, parts).attend(layer, queries, fresh, mixed)
    return mixed


@pytest.mark.parametrize(("heads", "kv_heads", "head_dim"), [(6, 2, 64), (4, 4, 8)])
def test_keys_values_and_results_are_those_of_torch(heads: int, kv_heads: int, head_dim: int) -> None:
    shape, lengths = shape_with(heads, kv_heads, head_dim), [(0, 1), (40, 1), (17, 3), (5, 8), (63, 1)]
    ours, theirs = texts_of(shape, lengths), texts_of(shape, lengths)
    queries, fresh = heads_of(shape, sum(count for _, count in lengths))
    for layer in range(LAYERS):
        mixed = by_kernel(shape, ours, queries, fresh, layer)
        for (first, own), (_, other) in zip(ours, theirs, strict=True):
            rows = slice(first, first + own.count)
            other.write(layer, fresh[rows])
            torch.testing.assert_close(mixed[rows], other.attend(layer, queries[rows]), atol=2e-6, rtol=1e-5)
            torch.testing.assert_close(own.cache.values, other.cache.values, rtol=0, atol=0, equal_nan=True)


def test_scores_of_any_size_give_shares_that_sum_to_one() -> None:
    shape = shape_with(2, 1, 8)
    parts = texts_of(shape, [(30, 1)])
    parts[0][1].cache.values[:, 1] = 1.0
    queries, fresh = heads_of(shape, 1)
    fresh = fresh.clone()
    fresh[:, 1] = 1.0
    for size in (0.0, 1.0, 1e3, 1e6):
        mixed = by_kernel(shape, parts, (queries * size).contiguous(), fresh, 0)
        torch.testing.assert_close(mixed, torch.ones_like(mixed), atol=1e-5, rtol=0)


def test_a_text_gets_the_same_numbers_in_any_company() -> None:
    shape = shape_with(6, 2, 64)
    lengths = [(40, 2), (3, 1), (50, 5)]
    queries, fresh = heads_of(shape, 8)
    together = by_kernel(shape, texts_of(shape, lengths), queries, fresh, 0)
    _, last = texts_of(shape, lengths)[-1]
    assert torch.equal(by_kernel(shape, [(0, last)], queries[3:], fresh[3:], 0), together[3:])


def test_a_nan_in_one_text_stays_there() -> None:
    shape = shape_with(4, 2, 8)
    parts = texts_of(shape, [(10, 1), (10, 1)])
    queries, fresh = heads_of(shape, 2)
    queries = queries.clone()
    queries[0] = torch.nan
    mixed = by_kernel(shape, parts, queries, fresh, 1)
    assert mixed[0].isnan().all()
    assert mixed[1].isfinite().all()
