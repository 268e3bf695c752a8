"""Rotary positions as one table of complex numbers: turning a head is one multiplication.

Each pair of a head's values is one complex number. The families store pair i as values i and i + half; the rows of the
query and key weights are put side by side at load (`side_by_side`), which no dot product between them can notice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def turns(rope: Mapping[str, Any], head_dim: int, positions: int) -> Tensor:
    """[positions, 1, head_dim / 2] complex: what position i multiplies each pair with."""
    radians, factor = frequencies(rope, head_dim)
    angles = torch.outer(torch.arange(positions, dtype=torch.float32), radians)
    return torch.polar(torch.full_like(angles, factor), angles).unsqueeze(1)


def side_by_side(weight: Tensor, heads: int) -> Tensor:
    """Reorder rows [heads * head_dim, ...] so that the two halves of a pair become neighbours."""
    halves = weight.view(heads, 2, -1, *weight.shape[1:])
    return halves.transpose(1, 2).reshape(weight.shape)


def turn(heads: Tensor, by: Tensor) -> None:
    """Turn float32 heads [n, heads, head_dim] in place by the rows of `turns` that belong to their positions."""
    torch.view_as_complex(heads.view(*heads.shape[:-1], -1, 2)).mul_(by)


def frequencies(rope: Mapping[str, Any], head_dim: int) -> tuple[Tensor, float]:
    """Radians per position for each pair, and the factor on queries and keys."""
    base, kind = rope["rope_theta"], rope["rope_type"]
    plain: Tensor = 1.0 / (base ** (torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim))
    if kind == "linear":
        return plain / rope["factor"], 1.0
    if kind == "llama3":
        return _llama3(rope, plain), 1.0
    if kind == "yarn":
        return _yarn(rope, plain, head_dim)
    return plain, 1.0  # "dynamic" only differs past the trained context, which is where this decoder stops


def _llama3(rope: Mapping[str, Any], plain: Tensor) -> Tensor:
    low, high, trained = rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
    waves = trained * plain / (2 * math.pi)  # how often each pair turns within the trained context
    blend = ((waves - low) / (high - low)).clamp(0, 1)
    slowed: Tensor = (1 - blend) * plain / rope["factor"] + blend * plain
    return slowed


def _yarn(rope: Mapping[str, Any], plain: Tensor, head_dim: int) -> tuple[Tensor, float]:
    trained, factor = rope["original_max_position_embeddings"], rope["factor"]

    def pair_that_turns(times: float) -> float:
        return head_dim * math.log(trained / (times * 2 * math.pi)) / (2 * math.log(rope["rope_theta"]))

    first, last = pair_that_turns(rope.get("beta_fast") or 32), pair_that_turns(rope.get("beta_slow") or 1)
    first, last = max(math.floor(first), 0), min(math.ceil(last), head_dim - 1)
    last += 0.001 if first == last else 0.0
    slowed = ((torch.arange(head_dim // 2, dtype=torch.float32) - first) / (last - first)).clamp(0, 1)
    given = rope.get("attention_factor")
    grown = 0.1 * math.log(factor) + 1.0 if factor > 1 else 1.0
    return plain * (1 - slowed) + plain / factor * slowed, grown if given is None else float(given)
