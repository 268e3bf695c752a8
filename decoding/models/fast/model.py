"""FastModel: one model's weights, laid out for a device. Any number of texts can be read with them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from decoding.models.devices import facts_of, indexed
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.fused import chosen
from decoding.models.fast.joint import extend_in_slabs, extend_jointly
from decoding.models.fast.kv import Cache
from decoding.models.fast.lean import Lean
from decoding.models.fast.linear import Layout, fastest
from decoding.models.fast.passes import Passes, SlicedPasses, StaticPasses
from decoding.models.fast.products import with_tiles
from decoding.models.fast.runner import FastRunner
from decoding.models.fast.shape import Shape
from decoding.models.fast.slab import Slab, SlabCache, SlabPasses
from decoding.models.fast.weights import ModelWeights
from decoding.models.runner import Feed, ModelRunner

SCRATCH = 256  # slots for branches to begin with; more are made when they are needed
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class FastModel:
    """`dtype` is what rows travel in between the layers; scores and logits are float32 always. On a CPU, `auto` takes
    bfloat16 where the checkpoint is no finer and it is clearly faster here, measured now."""

    def __init__(
        self,
        shape: Shape,
        weights: ModelWeights,
        *,
        dtype: str = "auto",
        context: int | None = None,
        device: torch.device | None = None,
        static: bool | None = None,
        layout: Layout | None = None,
        capturing: Capturing | None = None,
    ) -> None:
        """`static` chooses the GPU's layout of passes, and `capturing` records them; by default, where there is a GPU.
        `layout` is that of the matrices; by default the fastest, measured now."""
        self.shape = shape
        self.vocab_size = shape.vocab_size
        self.context = min(context or shape.context, shape.context)
        self.device = indexed(device or torch.device("cpu"))
        self._is_static = self.device.type == "cuda" if static is None else static
        layout = layout or _layout(weights, dtype, self.device, self._is_static)
        self._capturing = capturing or (Capturing(self.device) if self.device.type == "cuda" else None)
        kernels = chosen(shape, layout, self._capturing) if self._capturing and self._is_static else None
        self.decoder = Decoder(shape, weights, layout, self.context, self.device, kernels)
        if self._capturing and self._is_static:
            self.decoder.kernels = with_tiles(self.decoder, self._capturing)
        self._lean = Lean(self.decoder)
        told = self.decoder.kernels.told
        self.facts = facts_of("fast", self.device, layout.dtype, layout.way, self.context, told)

    def new_runner(self) -> FastRunner:
        return FastRunner(self, self.new_cache(), self.context)

    def new_runners(self, count: int, room: int = 0) -> list[ModelRunner]:
        held = self._held(room)
        if not self._is_static:
            return [FastRunner(self, self.new_cache(held), held) for _ in range(count)]
        slab = Slab(self.decoder, count, _slots(held), self._capturing)
        return [FastRunner(self, slab.cache(place), held) for place in range(count)]

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        return extend_in_slabs(feeds) if self._is_static else extend_jointly(self.decoder, self._lean, feeds)

    def bytes_for(self, room: int) -> int:
        shape = self.shape
        item = torch.float32 if not self._is_static else self.decoder.layout.dtype
        return 2 * shape.layers * shape.kv_heads * shape.head_dim * item.itemsize * _slots(self._held(room))

    def new_cache(self, room: int = 0) -> Cache:
        slots = _slots(self._held(room))
        if not self._is_static:
            return Cache(self.shape, slots, torch.float32, self.device)
        cache = Cache(self.shape, slots, self.decoder.layout.dtype, self.device)
        cache.values.zero_()  # hidden slots are read too, and zero times what memory held before may be NaN
        return cache

    def _held(self, room: int) -> int:
        return min(room or self.context, self.context)

    def passes_over(self, cache: Cache) -> Passes:
        if isinstance(cache, SlabCache):
            return SlabPasses(self.decoder, cache, self._capturing)
        if self._is_static:
            return StaticPasses(self.decoder, cache, self._capturing)
        return SlicedPasses(self.decoder, cache, self._lean)


def _slots(tokens: int) -> int:
    """Slots of a cache for so many tokens and branches behind them. Masks are read fastest in whole blocks."""
    return -(-(tokens + SCRATCH) // 64) * 64


def _layout(weights: ModelWeights, dtype: str, device: torch.device, is_static: bool) -> Layout:
    """Choose how the matrices lie, and in which dtype rows travel between them. `auto` never rounds the weights."""
    stored = weights.embedding.dtype
    if is_static or device.type != "cpu":
        return Layout("plain", stored if dtype == "auto" else DTYPES[dtype], is_fused=is_static)
    dtypes = [DTYPES[dtype]] if dtype != "auto" else [torch.float32, *[torch.bfloat16] * (stored == torch.bfloat16)]
    first = weights.layer(0)
    return fastest([part.weight[:2048] for part in (first.qkv, first.out, first.inner, first.down)], dtypes)
