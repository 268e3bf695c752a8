"""One pass for several texts. They share every matrix product; on a CPU each attends to its own cache, and on a GPU to
its place in a slab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from decoding.models.fast.decoder import Decoder
from decoding.models.fast.kv import Rows
from decoding.models.fast.lean import Lean
from decoding.models.fast.runner import PASS, FastRunner, FastTree
from decoding.models.fast.shape import Shape
from decoding.models.fast.slab import NewRows as SlabFeed
from decoding.models.fast.slab import Slab, SlabCache, fits
from decoding.models.runner import Feed, Reader, TreePass


@torch.inference_mode()
def extend_jointly(decoder: Decoder, lean: Lean, feeds: Sequence[Feed]) -> list[Tensor]:
    """Extend each runner of one model, in as few passes as `PASS` rows each allow."""
    logits: list[Tensor] = []
    for some in _packed(feeds):
        logits += (
            [runner.extend(tokens, need) for runner, tokens, need in some]
            if len(some) == 1
            else _pass(decoder, lean, some)
        )
    return logits


def _packed(feeds: Sequence[Feed]) -> Iterator[list[Feed]]:
    pack: list[Feed] = []
    rows = 0
    for feed in feeds:
        if pack and rows + len(feed[1]) > PASS:
            yield pack
            pack, rows = [], 0
        pack.append(feed)
        rows += len(feed[1])
    yield pack


def _pass(decoder: Decoder, lean: Lean, feeds: Sequence[Feed]) -> list[Tensor]:
    ids, parts = zip(*[_part(decoder.shape, feed) for feed in feeds], strict=True)
    needs = [need for _, _, need in feeds]
    needed = _needed([part.count for part in parts], needs)
    rows = JointRows(parts, decoder.shape)
    hidden = lean.layered(*decoder.embedded(torch.cat(ids), rows), parts, rows)
    return list(torch.split_with_sizes(decoder.logits(hidden, needed), needs))


def _part(shape: Shape, feed: Feed) -> tuple[Tensor, Rows]:
    """Return the ids and rows of one text, which goes on with a chain or a tree. All are of this model."""
    reader, tokens, need = feed
    if isinstance(reader, TreePass):
        tree: FastTree = reader.tree  # type: ignore[assignment]
        return tree.take(list(tokens), reader.parents)
    runner: FastRunner = reader  # type: ignore[assignment]
    ids = runner.take(tokens, need)
    return ids, Rows(runner.cache, shape, runner.advance(len(ids)), len(ids))


@torch.inference_mode()
def extend_in_slabs(feeds: Sequence[Feed]) -> list[Tensor]:
    """Extend each runner of one model, in one pass for each slab. Texts without one, and pieces of prompts, read
    alone."""
    logits: dict[int, Tensor] = {}
    together: dict[Slab, list[int]] = {}
    for number, (runner, tokens, need) in enumerate(feeds):
        slab = _slab_of(runner) if fits(len(tokens), need) else None
        if slab:
            together.setdefault(slab, []).append(number)
        else:
            logits[number] = runner.extend(tokens, need)
    for slab, numbers in together.items():
        logits |= zip(numbers, _read(slab, [feeds[number] for number in numbers]), strict=True)
    return [logits[number] for number in range(len(feeds))]


def _slab_of(runner: Reader) -> Slab | None:
    is_in_slab = isinstance(runner, FastRunner) and isinstance(runner.cache, SlabCache)
    return runner.cache.slab if is_in_slab else None  # type: ignore[attr-defined]


def _read(slab: Slab, feeds: Sequence[Feed]) -> list[Tensor]:
    rows = []
    for runner, tokens, need in feeds:
        assert isinstance(runner, FastRunner) and isinstance(runner.cache, SlabCache)
        ids = runner.noted(tokens, need)
        rows.append(SlabFeed(runner.cache, runner.advance(len(ids)), ids))
    found = slab.read(rows)
    return [logits[-need:] for logits, (_, _, need) in zip(found, feeds, strict=True)]


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
