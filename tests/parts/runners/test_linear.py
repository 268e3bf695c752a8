"""Layouts of weights: each gives the numbers of an ordinary linear layer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.linear import Apply, Layout, Way, fastest, prepare, prepare_adding, winner

ROOT = Path(__file__).parents[3]
ROWS = range(1, 25)
WAYS: list[Way] = ["tiled", "half", "packed", "plain"]


def weight(rows: int, columns: int, spread: float = 0.05) -> Tensor:
    """Make random weights that a bfloat16 file can hold."""
    found = torch.randn(rows, columns, generator=torch.Generator().manual_seed(3)) * spread
    return found.bfloat16().float()


def laid_out(matrix: Tensor, bias: Tensor | None, layout: Layout) -> Apply:
    try:
        return prepare(matrix, bias, layout)
    except RuntimeError as reason:
        pytest.skip(f"this processor has no such layout: {reason}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("biased", [False, True])
def test_every_way_gives_the_numbers_of_a_linear_layer(way: Way, biased: bool) -> None:
    matrix, bias = weight(96, 160), weight(1, 96)[0] if biased else None
    apply = laid_out(matrix, bias, Layout(way, torch.float32))
    for count in ROWS:
        rows = torch.randn(count, 160, generator=torch.Generator().manual_seed(count))
        torch.testing.assert_close(apply(rows), F.linear(rows, matrix, bias), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("layout", [Layout("half", torch.float32), Layout("plain", torch.float32, is_fused=True)])
@pytest.mark.parametrize("biased", [False, True])
def test_a_product_is_added_to_the_residual(layout: Layout, biased: bool) -> None:
    matrix, bias = weight(96, 160), weight(1, 96)[0] if biased else None
    add = prepare_adding(matrix, bias, layout)
    for count in (1, 5):
        rows, residual = torch.linspace(-1, 1, count * 160).view(count, 160), torch.ones(count, 96)
        want = F.linear(rows, matrix, bias) + 1
        torch.testing.assert_close(add(rows, residual), want, atol=2e-5, rtol=1e-5)


def test_a_matrix_that_no_tiles_cover_keeps_its_numbers() -> None:
    matrix, rows = weight(97, 160), torch.ones(3, 160)
    torch.testing.assert_close(laid_out(matrix, None, Layout("tiled", torch.float32))(rows), F.linear(rows, matrix))


@pytest.mark.parametrize(
    "layout", [Layout("tiled", torch.float32), Layout("half", torch.float32), Layout("packed", torch.bfloat16)]
)
def test_a_row_is_the_same_alone_and_among_others(layout: Layout) -> None:
    apply = laid_out(weight(96, 160), None, layout)
    rows = torch.randn(24, 160, generator=torch.Generator().manual_seed(1)).to(layout.dtype)
    whole = apply(rows)
    for count in ROWS:
        assert torch.equal(apply(rows[:count].contiguous()), whole[:count])


def test_a_product_does_not_wait_for_threads_that_never_come() -> None:
    limited = os.environ | {"OMP_THREAD_LIMIT": "1"}
    said = subprocess.run(
        [sys.executable, "-c", LIMITED], cwd=ROOT, env=limited, capture_output=True, text=True, check=True, timeout=300
    )
    assert float(said.stdout) < 1e-4


LIMITED = """
import torch
from decoding.models.fast.linear import Layout, prepare
torch.set_num_threads(2)
matrix, rows = torch.ones(4096, 1024), torch.ones(1, 1024)
print(float((prepare(matrix, None, Layout("tiled", torch.float32))(rows) - 1024).abs().max()))
"""


@pytest.mark.parametrize("biased", [False, True])
def test_a_large_matrix_gives_the_same_numbers_whether_threads_share_it_or_not(biased: bool) -> None:
    matrix, bias = weight(4096, 1024), weight(1, 4096)[0] if biased else None
    rows = torch.randn(5, 1024, generator=torch.Generator().manual_seed(1))
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(laid_out(matrix, bias, Layout("tiled", torch.float32))(rows))
        assert all(torch.equal(result, results[0]) for result in results)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("seconds", "wins"), [(0.69, "bfloat16"), (0.71, "float32")])
def test_another_number_format_wins_only_where_it_is_clearly_faster(seconds: float, wins: str) -> None:
    slow, usual, other = Layout("half", torch.float32), Layout("tiled", torch.float32), Layout("packed", torch.bfloat16)
    times, formats = {slow: 1.5, usual: 1.0, other: seconds}, [torch.float32, torch.bfloat16]
    assert winner(times, formats) == (other if wins == "bfloat16" else usual)


def test_weights_that_float16_does_not_hold_are_laid_out_otherwise() -> None:
    exact = [torch.randn(64, 64, generator=torch.Generator().manual_seed(0))]
    assert fastest(exact, [torch.float32]).way != "half"


@pytest.mark.parametrize("odd", [float("nan"), 1e5, 1 / 3])
def test_one_matrix_that_float16_does_not_hold_keeps_its_numbers(odd: float) -> None:
    """A layer beyond those that the layout was chosen on, in a checkpoint that is damaged or only larger there."""
    matrix = weight(96, 160)
    matrix[3, 7] = odd
    rows = torch.randn(2, 160, generator=torch.Generator().manual_seed(2))
    expected = F.linear(rows, matrix)
    for way in ("half", "tiled"):
        apply = laid_out(matrix, None, Layout(way, torch.float32))
        torch.testing.assert_close(apply(rows), expected, equal_nan=True)
