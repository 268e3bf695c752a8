"""Muon's updates are nearly orthogonal, whatever the gradient's shape, and it learns."""

import pytest
import torch

from starter.muon import Muon, orthogonalised


@pytest.mark.parametrize("shape", [(2, 24, 24), (1, 64, 16), (3, 16, 64)])
def test_singular_values_come_near_to_one(shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonalised(torch.randn(shape) * 1e-3).float())
    assert 0.6 < values.median() < 1.3
    assert values.max() < 1.3
    assert values.min() > 0.1  # the gradient's own were a thousandth of that


def test_it_solves_a_linear_problem():
    torch.manual_seed(0)
    wanted = torch.randn(12, 8)
    matrix = torch.nn.Parameter(torch.zeros(12, 8))
    optimizer = Muon([matrix], lr=0.05, weight_decay=0.0)
    for _ in range(200):
        ((matrix - wanted) ** 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert (matrix - wanted).abs().mean() < 0.1
