"""The cache of keys and values, and the masks that say which of them a row may see.

One tensor for all layers: [layers, 2, kv_heads, slots, head_dim]. A text's tokens take the slots from 0 on, those of a
tree the slots behind the text, in the order in which they come. What lies behind the text is overwritten. Static passes
read it too, behind a mask, so they erase a text before the next one begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.shape import Shape

HIDDEN = float("-inf")


class Cache:
    """The keys and values of one text and its tree."""

    def __init__(self, shape: Shape, slots: int, dtype: torch.dtype, device: torch.device) -> None:
        # Not cleared: rows see only slots that were written, and memory that no text reaches is never touched.
        self.values = torch.empty(shape.layers, 2, shape.kv_heads, slots, shape.head_dim, dtype=dtype, device=device)
        self.used = 0  # slots that static passes may have written

    @property
    def storages(self) -> Sequence[Tensor]:
        """All that passes may write to: `values`, and what takes its place at other times."""
        return (self.values,)

    @torch.inference_mode()
    def clear(self) -> None:
        """Erase the text of static passes, whose hidden slots are read too: zero times NaN is NaN."""
        for values in self.storages:
            values[:, :, :, : self.used].zero_()
        self.used = 0

    @property
    def slots(self) -> int:
        return self.values.shape[3]

    def reserve(self, slots: int, used: int) -> None:
        """Grow to at least so many slots. The first `used` keep what they hold."""
        if slots > self.slots:
            wanted = -(-max(slots, used * 5 // 4) // 64) * 64
            wider = self.values.new_zeros(*self.values.shape[:3], wanted, self.values.shape[4])
            wider[:, :, :, :used] = self.values[:, :, :, :used]
            self.values = wider

    def move(self, slots: Tensor, to: int) -> None:
        """Copy scattered slots to the row of slots that starts at `to`."""
        self.values.narrow(3, to, slots.numel()).copy_(self.values.index_select(3, slots))


class Rows:
    """The rows of one forward pass: where their keys and values go, which ones they see, what positions they have.

    The new rows take the slots from `start` on, and see slots before them: all of their own past in a text, or their
    own path (`TreeMask`). A mask is added to the scores, [rows * group, slots seen].
    """

    def __init__(
        self,
        cache: Cache,
        shape: Shape,
        start: int,
        count: int,
        positions: Tensor | None = None,
        tree_mask: Tensor | None = None,
    ) -> None:
        """Without positions and a mask the rows are a text's next tokens: each sees itself and all slots before it."""
        self.cache = cache
        self.positions = slice(start, start + count) if positions is None else positions
        self.start = start
        self.count = count
        self.tree_mask = tree_mask
        self._shape = shape

    # Made when they are asked for: many texts at once ask for none of these.

    @cached_property
    def mask(self) -> Tensor | None:
        if self.tree_mask is not None or self.count == 1:
            return self.tree_mask
        end = self.start + self.count
        rows = torch.arange(self.start, end).repeat_interleave(self._shape.group).unsqueeze(1)
        return _hide(torch.arange(end) > rows)

    @cached_property
    def new(self) -> Sequence[Tensor]:
        """The slots of these rows, by layer."""
        return self.cache.values.narrow(3, self.start, self.count).unbind(0)

    @cached_property
    def seen(self) -> Sequence[Tensor]:
        """The slots up to these rows, keys and values of each layer in turn."""
        return self.cache.values.flatten(0, 1).unsqueeze(1).narrow(3, 0, self.start + self.count).unbind(0)

    def write(self, layer: int, keys_and_values: Tensor) -> None:
        """[count, 2, kv_heads, head_dim]"""
        self.new[layer].copy_(keys_and_values.permute(1, 2, 0, 3))

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        """[count, heads, head_dim] -> [count, heads * head_dim]. Dealt heads make rows times groups one axis."""
        shape = self._shape
        grouped = queries.reshape(1, self.count * shape.group, shape.kv_heads, shape.head_dim).transpose(1, 2)
        mixed = self.mix(layer, grouped)
        return mixed.transpose(1, 2).reshape(self.count, shape.heads * shape.head_dim)

    def mix(self, layer: int, grouped: Tensor) -> Tensor:
        """Attend with queries [1, kv_heads, count * group, head_dim]."""
        keys, values = self.seen[2 * layer], self.seen[2 * layer + 1]
        return F.scaled_dot_product_attention(grouped, keys, values, self.mask)


class JointRows:
    """The rows of several texts. It is the `KvSlots` of their pass."""

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


def _positions(part: Rows) -> Tensor:
    where = part.positions
    return where if isinstance(where, Tensor) else torch.arange(where.start, where.stop)


class TreeMask:
    """The mask of a tree behind a text: each row sees the text up to where its path leaves it, its ancestors, and
    itself."""

    def __init__(self, length: int, shape: Shape, device: torch.device) -> None:
        self._length, self._group, self._device = length, shape.group, device
        self._parents: list[int] = []  # by row
        self.kept: list[int] = []  # by row: tokens of the text that belong to its path
        self._positions: list[int] = []  # by row
        self._first = 0  # row of the last step
        self._goes_on = False  # whether each row of the last step follows the one in its place of the step before
        self._mask = torch.empty(0)  # of the last step

    @property
    def rows(self) -> int:
        return len(self._parents)

    def grow(self, parents: Sequence[int]) -> list[int]:
        """Add rows, and return each one's position in its text."""
        first, end = self.rows, self._length + 1
        self._goes_on = first > 0 and [*parents] == [*range(self._first, first)]
        for parent in parents:
            self.kept.append(self.kept[parent] if parent >= 0 else end + parent)
            self._positions.append(self._positions[parent] + 1 if parent >= 0 else end + parent)
            self._parents.append(parent)
        self._first = first
        return self._positions[first:]

    def last(self) -> Tensor:
        """Make the mask of the last step."""
        count, group = self.rows - self._first, self._group
        self._mask = torch.cat((self._mask, _others(count, group, self._device)), 1) if self._goes_on else self._whole()
        return self._mask

    def _whole(self) -> Tensor:
        first, length = self._first, self._length
        seen = torch.zeros(self.rows - first, length + self.rows, dtype=torch.bool)
        seen[:, :length] = torch.arange(length) < torch.tensor(self.kept[first:])[:, None]
        paths = [self._path(row) for row in range(first, self.rows)]
        rows = [row for row, path in enumerate(paths) for _ in path]
        seen[rows, [length + other for path in paths for other in path]] = True
        return _hide(~seen.to(self._device).repeat_interleave(self._group, 0))

    def _path(self, row: int) -> list[int]:
        path = [row]
        while (row := self._parents[row]) >= 0:
            path.append(row)
        return path


@lru_cache(maxsize=4)  # one step after another has as many rows
def _others(count: int, group: int, device: torch.device) -> Tensor:
    """Hide the rows of one step from each other."""
    rows = torch.arange(count, device=device)
    return _hide(rows != rows.repeat_interleave(group).unsqueeze(1))


def _hide(hidden: Tensor) -> Tensor:
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, HIDDEN)
