"""Matrix products for a handful of rows, laid out once at load.

An ordinary linear layer repacks its weights on every call when it is given two to eight rows, which is just what a
verification gives it: on a CPU it then costs twice what one row costs. Four ways to lay weights out are known here;
`fastest` times them on the model's own matrices, at the thread count in force, and keeps those that give the numbers
of an ordinary linear layer.

    tiled     tiles for our own kernel (`tiles`), in float16 where it holds the weights: then a whole pass is one call
    half      float16 weights, float32 arithmetic (FBGEMM): only for weights that float16 holds, and in one thread
    packed    oneDNN's own blocked layout, in float32 or bfloat16
    plain     torch's linear; the only one on a GPU, where nothing is repacked
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from decoding.models.fast.crew import Crewed

Apply = Callable[[Tensor], Tensor]
Way = Literal["tiled", "half", "packed", "plain"]
ROUNDS = 7  # of timing every layout
CALL = 5e-6  # seconds of a tiled product's own call, which a whole pass does without
WHOLE = 0.75  # and of what torch takes between other products, some quarter of a small model's pass

# The packed layouts are reached through private or aging functions of torch. Where one is missing, `fastest` does not
# find its way among the candidates, and nothing else changes.
_pack_half: Any = getattr(torch, "fbgemm_pack_gemm_matrix_fp16", None)
_apply_half: Any = getattr(torch, "fbgemm_linear_fp16_weight_fp32_activation", None)
_mkldnn: Any = torch.ops.mkldnn


@dataclass(frozen=True)
class Layout:
    """The way the weights lie, and the dtype that rows come and go in."""

    way: Way
    dtype: torch.dtype
    is_fused: bool = False  # as many operations as possible in one launch: a small one costs a GPU more than its work


def prepare(weight: Tensor, bias: Tensor | None, layout: Layout) -> Apply:
    """Make a function from rows [n, in] to rows [n, out]. The weight [out, in] may be dropped afterwards."""
    bias = None if bias is None else bias.to(layout.dtype)
    # Asked of each matrix: packing would turn what float16 does not hold, NaN too, into large numbers without a word.
    if layout.way == "half" and fits_half(weight):
        return _prepare_half(weight, bias)
    if layout.way == "tiled" and (tiled := Tiled.of(weight, bias)):
        return tiled
    weight = weight.to(layout.dtype)
    if layout.way == "packed":
        apply, blocked = _mkldnn._linear_pointwise.default, _mkldnn._reorder_linear_weight(weight, 8)
        return lambda rows: apply(rows, blocked, bias, "none", [], "")
    return Linear(weight, bias)


@dataclass(frozen=True, slots=True)
class Linear:
    """A matrix as torch has it, and its product with rows."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, rows: Tensor) -> Tensor:
        return F.linear(rows, self.weight, self.bias)


@dataclass(slots=True)
class Tiled:
    """A matrix in tiles, and its product with rows."""

    weights: Tensor
    bias: Tensor | None
    width: int
    size: int
    kernel: Crewed

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor | None) -> Tiled | None:
        """Return None for a matrix that no tiles cover."""
        from decoding.models.fast import tiles

        size, width = weight.shape
        if size % tiles.WIDTH:
            return None
        stored = weight.to(torch.float16 if fits_half(weight) else torch.float32)
        laid = stored.view(-1, tiles.WIDTH, width).transpose(1, 2).contiguous()
        return cls(laid, bias, width, size, tiles.shared_product)

    def __call__(self, rows: Tensor) -> Tensor:
        rows, count = rows.contiguous(), len(rows)
        found, turned = rows.new_empty(count, self.size), rows.new_empty(torch.get_num_threads(), count * self.width)
        matrix, given = (self.weights.data_ptr(), self.weights.element_size()), (count, self.width, self.size)
        self.kernel(
            self.weights.nbytes * count, (rows.data_ptr(), *matrix, found.data_ptr(), *given, turned.data_ptr())
        )
        return found if self.bias is None else found.add_(self.bias)


def _prepare_half(weight: Tensor, bias: Tensor | None) -> Apply:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces the function's end; the pin decides when that matters
        packed = _pack_half(weight.float())
        _apply_half(weight[:1].float(), packed, None)  # it warns once, now
    return lambda rows: _apply_half(rows, packed, bias)


@dataclass(frozen=True, slots=True)
class Adding:
    """A product that is added to a residual in a step of its own. The residual is used up."""

    product: Apply

    def __call__(self, rows: Tensor, residual: Tensor) -> Tensor:
        return self.product(rows).add_(residual)


@dataclass(frozen=True, slots=True)
class Summing:
    """The same in the product's own launch."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, rows: Tensor, residual: Tensor) -> Tensor:
        if self.bias is not None:
            residual.add_(self.bias)
        return residual.addmm_(rows, self.weight.t())


def prepare_adding(weight: Tensor, bias: Tensor | None, layout: Layout) -> Adding | Summing:
    """Make a function that adds the product of rows to a residual."""
    if not layout.is_fused:
        return Adding(prepare(weight, bias, layout))
    return Summing(weight.to(layout.dtype), None if bias is None else bias.to(layout.dtype))


def fits_half(weight: Tensor) -> bool:
    """Say if float16 holds these weights: exactly, save values below 8e-6, which it holds to 3e-8.

    It does so for nearly every bfloat16 checkpoint, and then float32 arithmetic costs half the memory traffic."""
    if weight.dtype == torch.float16:
        return True
    whole = weight.float()
    return bool((whole.half().float() - whole).abs().max() <= 2.0**-25)


def fastest(samples: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> Layout:
    """Time every layout that works on a few of the model's matrices."""
    works = {
        layout: work
        for dtype in dtypes
        for layout in _candidates(samples, dtype)
        if (work := _work(samples, layout)) is not None
    }
    times = dict.fromkeys(works, math.inf)
    for _ in range(ROUNDS):  # in turns: a busy moment hits all alike
        for layout, work in works.items():
            start = time.perf_counter()
            work()
            times[layout] = min(times[layout], time.perf_counter() - start)
    for layout in times:
        if layout.way == "tiled":
            times[layout] = WHOLE * (times[layout] - 2 * len(samples) * CALL)
    return winner(times, dtypes)


def winner(times: Mapping[Layout, float], dtypes: Sequence[torch.dtype]) -> Layout:
    """Choose by seconds. The first dtype wins unless another is clearly faster, so that a busy moment does not change
    the numbers a model gives."""
    best = {
        dtype: min((layout for layout in times if layout.dtype == dtype), key=times.__getitem__) for dtype in dtypes
    }
    first, *others = best.values()
    clearly_faster = [layout for layout in others if times[layout] < 0.7 * times[first]]
    return min(clearly_faster, key=times.__getitem__, default=first)


def _candidates(samples: Sequence[Tensor], dtype: torch.dtype) -> list[Layout]:
    found: list[Way] = ["plain"]
    if dtype == torch.float32:
        found.append("tiled")
    if hasattr(_mkldnn, "_linear_pointwise"):
        found.append("packed")
    if dtype == torch.float32 and _pack_half and _apply_half and all(map(fits_half, samples)):
        found.append("half")
    return [Layout(way, dtype) for way in found]


def _work(samples: Sequence[Tensor], layout: Layout) -> Callable[[], None] | None:
    """Make what is timed: one row and five rows through all samples. None if this machine cannot do it rightly."""
    weights = [weight for weight in samples for _ in (1, 5)]
    counts = [count for _ in samples for count in (1, 5)]
    rows = [
        torch.linspace(-1, 1, count * weight.shape[1]).to(layout.dtype).view(count, -1)
        for weight, count in zip(weights, counts, strict=True)
    ]
    try:
        applies = [prepare(weight, None, layout) for weight in weights]
        results = [apply(row) for apply, row in zip(applies, rows, strict=True)]
    except Exception:  # whatever a processor, a compiler, or a missing one, fails with
        return None
    expected = [F.linear(row.float(), weight.float()) for row, weight in zip(rows, weights, strict=True)]
    tolerance = 0.03 if layout.dtype == torch.bfloat16 else 1e-4
    if any(
        (got - want).abs().max() > tolerance * want.abs().max() for got, want in zip(results, expected, strict=True)
    ):
        return None

    def work() -> None:
        for apply, row in zip(applies, rows, strict=True):
            apply(row)

    return work
