"""One pass for several texts on a CPU. They share every matrix product; each attends to its own cache."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from decoding.models.fast.decoder import Decoder
from decoding.models.fast.kv import Rows
from decoding.models.fast.lean import Lean
from decoding.models.fast.shape import Shape


def joint_pass(
    decoder: Decoder, lean: Lean, texts: Sequence[tuple[Tensor, Rows]], needs: Sequence[int]
) -> list[Tensor]:
    """Read the ids of each text. Return as many rows of logits of each as are needed."""
    ids, parts = zip(*texts, strict=True)
    needed = _needed([part.count for part in parts], needs)
    rows = JointRows(parts, decoder.shape)
    hidden = lean.layered(*decoder.embedded(torch.cat(ids), rows), parts, rows)
    return list(torch.split_with_sizes(decoder.logits(hidden, needed), needs))


def _needed(counts: Sequence[int], needs: Sequence[int]) -> int | Tensor:
    """Say which rows' logits are asked for: the last ones of each text."""
    if [*counts] == [*needs]:
        return sum(counts)
    rows: list[int] = []
    end = 0
    for count, need in zip(counts, needs, strict=True):
        end += count
        rows += range(end - need, end)
    return torch.tensor(rows)


def _positions(part: Rows) -> Tensor:
    where = part.positions
    return where if isinstance(where, Tensor) else torch.arange(where.start, where.stop)


class JointRows:
    """The rows of several texts. It is the `Memory` of their pass."""

    def __init__(self, parts: Sequence[Rows], shape: Shape) -> None:
        self.positions = torch.cat([_positions(part) for part in parts])
        self._parts = parts
        self._shape = shape
        self._counts = [part.count for part in parts]
        self._grouped = [part.count * shape.group for part in parts]

    def write(self, layer: int, keys_and_values: Tensor) -> None:
        turned = keys_and_values.permute(1, 2, 0, 3)
        for part, new in zip(self._parts, torch.split_with_sizes(turned, self._counts, 2), strict=True):
            part.new[layer].copy_(new)

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        """[rows, heads, head_dim] -> [rows, heads * head_dim]. What each text need not do alone is done for all."""
        shape = self._shape
        grouped = queries.reshape(1, -1, shape.kv_heads, shape.head_dim).transpose(1, 2)
        own = zip(self._parts, torch.split_with_sizes(grouped, self._grouped, 2), strict=True)
        mixed = torch.cat([part.mix(layer, asked) for part, asked in own], 2)
        return mixed.transpose(1, 2).reshape(len(queries), shape.heads * shape.head_dim)
