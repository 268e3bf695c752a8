"""Choice of the fastest product for each matrix of a model, at the few rows of a token or of a verification.

A library may read a matrix at half of a card's bandwidth if there are few rows. Each part of the decoder is timed on
the model's own matrices, over so many layers that they do not fit into a GPU's cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from decoding.models.fast.capturing import Capturing
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.fused import Kernels, spread, why_wrong
from decoding.models.fast.linear import Apply, Linear, Summing

ROWS = (1, 4, 8, 2, 16)  # that are timed, in this order; numbers between them do as the next larger
TILES = (16, 32)  # outputs of a program: so few that the narrowest matrix of a large model fills a card
SECONDS = 2.0  # most that timing takes, without compiling
READ = 512 << 20  # bytes of matrices that one timed call reads, if the model has as many

Step = Callable[[Tensor, Tensor, int | None], Tensor]  # rows, residual, tile (None: torch's launches)


@dataclass(frozen=True)
class TimedProducts:
    """The products of one kind, of some layers."""

    weight: Tensor  # of the first
    steps: Sequence[Step]

    @classmethod
    def of(cls, product: object, steps: Sequence[Step]) -> TimedProducts:
        assert isinstance(product, Linear | Summing)
        return cls(product.weight, steps[: -(-READ // product.weight.nbytes)])

    def given(self, rows: int) -> tuple[Tensor, Tensor]:
        size, width = self.weight.shape
        where = {"dtype": self.weight.dtype, "device": self.weight.device}
        return spread(rows, width, **where), spread(rows, size, **where) / 8

    def why_wrong(self, tile: int) -> str | None:
        """Return why tiles of this size cannot be used; None if their numbers are right."""
        ours, torchs = (partial(self._first, by) for by in (tile, None))
        return next((wrong for rows in (1, 5) if (wrong := why_wrong(ours, torchs, self.given(rows)))), None)

    def _first(self, tile: int | None, rows: Tensor, residual: Tensor) -> Tensor:
        return self.steps[0](rows, residual, tile)

    def microseconds(self, rows: int, tile: int | None, capturing: Capturing) -> float:
        given = self.given(rows)
        try:
            return 1e3 * capturing.time(lambda: [step(*given, tile) for step in self.steps], 2) / len(self.steps)
        except Exception:  # it may run, and not be captured
            return math.inf


def with_tiles(decoder: Decoder, capturing: Capturing) -> Kernels:
    """Return the decoder's kernels, with the tiles of all products that take less time than torch's launches."""
    if decoder.kernels.product is None or not decoder.layout.is_fused:
        return decoder.kernels
    parts = parts_of(decoder)
    wrong = {name: {tile: part.why_wrong(tile) for tile in TILES} for name, part in parts.items()}
    told = {name: [f"tiles of {tile}: {why}" for tile, why in whys.items() if why] for name, whys in wrong.items()}
    tiles: dict[int, dict[str, int]] = {rows: {} for rows in ROWS}
    deadline = time.perf_counter_ns() + int(1e9 * SECONDS)
    for rows, name in ((rows, name) for rows in ROWS for name in parts if None in wrong[name].values()):
        if time.perf_counter_ns() > deadline:
            break
        right = [tile for tile, why in wrong[name].items() if not why]
        us = {tile: parts[name].microseconds(rows, tile, capturing) for tile in (None, *right)}
        best = min(us, key=us.__getitem__)
        if best is not None:
            tiles[rows][name] = best
        each = ", ".join(f"{f'tiles of {tile}' if tile else 'torch'} {took:.1f}" for tile, took in us.items())
        told[name].append(f"{rows} row{'s' * (rows > 1)}: {each} µs")
    timed = {f"product of {name}": "; ".join(lines) for name, lines in told.items()}
    return replace(decoder.kernels, tiles={rows: found for rows, found in tiles.items() if found}, timed=timed)


def parts_of(decoder: Decoder) -> dict[str, TimedProducts]:
    """Return the products of all layers by their part of the decoder."""
    layers = decoder.layers

    def multiplied(product: Apply, rows: Tensor, residual: Tensor, tile: int | None) -> Tensor:
        return decoder.multiplied(product, rows, tile)

    def timed(way: Callable[..., Tensor], products: Sequence[object]) -> TimedProducts:
        return TimedProducts.of(products[0], [partial(way, each) for each in products])

    return {
        "out": timed(decoder.added, [layer.out for layer in layers]),
        "down": timed(decoder.added, [layer.down for layer in layers]),
        "qkv": timed(multiplied, [layer.qkv for layer in layers]),
        "head": timed(multiplied, [decoder.head]),
        "inner": timed(multiplied, [layer.inner for layer in layers]),
    }
