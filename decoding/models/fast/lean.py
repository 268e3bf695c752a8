"""Passes with few rows on a CPU: one compiled call from the first layer to the last, where tiles cover all matrices.

Such a pass is hundreds of small operations, and torch's share of each is larger than the arithmetic of a small model.
The decoder runs all other passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from decoding.models.fast.decoder import Decoder, KvSlots, Layer, SmallNorm
from decoding.models.fast.kv import Rows
from decoding.models.fast.linear import Adding, Tiled

if TYPE_CHECKING:
    from decoding.models.fast.whole import Whole

FEW = 8  # rows of one text, up to which the call attends faster than torch with several threads
SHORT = 512  # slots of a text, up to which the call attends as fast for any number of rows
BRANCHES = 16  # rows that do not all see the same slots
CLOSE = 1e-4  # error of the last hidden rows, relative to the greatest number


class Lean:
    """Runs a decoder's layers, for all texts of a model."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._whole: Whole | None = None
        self._is_tried = decoder.layout.way != "tiled"

    def layered(self, hidden: Tensor, turns: Tensor | None, parts: Sequence[Rows], memory: KvSlots) -> Tensor:
        """Take the rows of all parts through all layers. `memory` is that of their pass."""
        if not self._is_tried and all(map(has_few, parts)):
            return self._try(hidden, turns, parts, memory)
        if self._whole and all(map(is_known, parts)):
            return self._whole.layered(hidden, turns, parts)
        return self._decoder.layered(hidden, turns, memory)

    def _try(self, hidden: Tensor, turns: Tensor | None, parts: Sequence[Rows], memory: KvSlots) -> Tensor:
        """Compile the call, and keep it if it gives the decoder's numbers."""
        self._is_tried = True
        expected = self._decoder.layered(hidden.clone(), turns, memory)
        try:
            whole = whole_of(self._decoder)
            found = whole.layered(hidden, turns, parts) if whole else expected
        except Exception:  # whatever a compiler, or a missing one, fails with: torch needs neither
            return expected
        if (found - expected).abs().max() > CLOSE * expected.abs().max():
            return expected
        self._whole = whole
        return found


def is_known(part: Rows) -> bool:
    """Say whether the call takes these rows: a few, those of a short text, or a small tree or step of branches."""
    if part.is_plain:
        return part.count <= FEW or part.start + part.count <= SHORT
    return part.common_mask is not None and part.count <= BRANCHES


def has_few(part: Rows) -> bool:
    return part.is_plain and part.count <= FEW


def whole_of(decoder: Decoder) -> Whole | None:
    """Return the call for a decoder, None if it does not know its layers."""
    from decoding.models.fast.tiles import WIDTH  # numba is not built for every system
    from decoding.models.fast.whole import Whole

    layers = [known for layer in decoder.layers if (known := _known(layer))]
    matrices = [part for layer in layers for part in layer if isinstance(part, Tiled)]
    if len(layers) < len(decoder.layers) or len({matrix.weights.dtype for matrix in matrices}) > 1:
        return None
    if any(matrix.size % WIDTH for matrix in matrices) or decoder.shape.inner % WIDTH:
        return None
    if decoder.shape.activation not in ("silu", "swish") or decoder.device.type != "cpu":
        return None
    return Whole(decoder.shape, layers)


def _known(layer: Layer) -> tuple[int | Tiled, ...] | None:
    """Return a layer as `Whole` takes it. Norms and the weight of heads are addresses."""
    norms, adds = (layer.norm_1, layer.norm_2), (layer.out, layer.feed.down)
    if layer.feed.width is None or not all(isinstance(each, Adding) for each in adds):
        return None
    out, down = (add.product for add in adds)  # type: ignore[attr-defined]
    if not all(isinstance(each, SmallNorm) for each in norms):
        return None
    first, second = (norm.weight.data_ptr() for norm in norms)  # type: ignore[attr-defined]
    head_norm = 0 if layer.head_norm is None else layer.head_norm.data_ptr()
    parts = (first, layer.qkv, head_norm, out, second, layer.feed.inner, down)
    known = tuple(part for part in parts if isinstance(part, int | Tiled))
    return known if len(known) == len(parts) else None
