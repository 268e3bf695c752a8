"""Choice between torch's launches and a kernel that does the work of several.

A small launch takes a GPU longer than its work, so fewer of them are faster. Each kernel is used only if it gives the
numbers of torch's launches and takes less time, both tried on the device when a model is loaded. How fast attention is
depends on the form of a pass, so each form tries that when it is captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.capturing import Capturing
from decoding.models.fast.kv import HIDDEN
from decoding.models.fast.linear import Layout
from decoding.models.fast.rope import turn
from decoding.models.fast.shape import Shape

Gate = Callable[[Tensor], Tensor]  # [n, 2 * inner] -> [n, inner]
Norm = Callable[[Tensor, Tensor, float], Tensor]  # [n, width], weight [width], eps -> [n, width]
Best = Callable[[Tensor], Tensor]  # scores [n, V] -> ids [n], -1 where a row has no finite best
# Queries [rows, heads, head_dim], dealt (head h belongs to key head h % kv_heads), storage [2, kv_heads, texts, slots,
# head_dim], and the rows' positions [rows] -> [rows, heads * head_dim]. Each text has as many rows, and a row sees the
# slots of its text up to its position.
AttendChains = Callable[[Tensor, Tensor, Tensor], Tensor]
Keyed = Callable[..., Tensor]  # takes settings by name, as the functions of the same names in `triton_kernels` say

NAMES = "gate", "norm", "best", "place", "attend"
NO_TILES: Mapping[str, int] = MappingProxyType({})
TEXTS, SLOTS = 3, 512  # of the slab that kernels are tried on
FEWEST = 16  # slots, of a text that attention is not divided for
LONGEST_REASON = 300
CLOSE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}  # relative error


@dataclass(frozen=True)
class Kernels:
    """The kernels in use; None where torch's launches are."""

    gate: Gate | None = None
    norm: Norm | None = None
    best: Best | None = None  # as `best_on` finds it
    place: Keyed | None = None
    attend: AttendChains | None = None  # in chains, without a mask
    product: Keyed | None = None  # of a few rows, where it has tiles
    tiles: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # by rows, then by part of the decoder
    timed: Mapping[str, str] = field(default_factory=dict)  # how long the products of each part take
    unused: Mapping[str, str] = field(default_factory=dict)  # why the others are not used, by their name

    @property
    def told(self) -> dict[str, str]:
        """Say of each kernel that it is "used", or why not, and how long products take."""
        used = [name for name in NAMES if getattr(self, name)] + ["product"] * bool(self.tiles)
        return dict.fromkeys(used, "used") | dict(self.timed) | dict(self.unused)

    def tiles_for(self, rows: int) -> Mapping[str, int]:
        """Return the tiles of products of so many rows, of those parts for which our kernel is faster."""
        return self.tiles.get(1 << (rows - 1).bit_length(), NO_TILES)


def chosen(shape: Shape, layout: Layout, capturing: Capturing) -> Kernels:
    try:
        from decoding.models.fast import triton_kernels
    except ImportError as error:  # torch brings Triton along for GPUs, not on every system
        return Kernels(unused=dict.fromkeys((*NAMES, "product"), reason(error)))
    device, refusals = capturing.device, dict[str, str | None]()
    norm, plain = (partial(each, eps=shape.norm_eps) for each in (triton_kernels.norm, rms_norm))
    refusals["norm"] = why_not(norm, plain, norm_trial(shape, layout, device), capturing)
    is_used = best_on(device) is triton_kernels.best
    refusals["best"] = None if is_used else why_wrong_best(triton_kernels.best, device)
    refusals["gate"] = why_not(triton_kernels.gate, silu_gate, gate_trial(shape, layout, device), capturing)
    normed = partial(partial, head_norm=head_norm_trial(shape, device), eps=shape.norm_eps)
    ours, torchs = (in_slab(normed(each)) for each in (triton_kernels.place, place))
    refusals["place"] = why_not(ours, torchs, place_trial(shape, layout, device), capturing)
    refusals["attend"] = _first(
        why_wrong(triton_kernels.attend, attend_chains, tried) for tried in attend_trials(shape, layout, device)
    )
    if layout.dtype == torch.float32:
        refusals["product"] = "It is for 16-bit weights."
    else:
        refusals["product"] = None  # `products` times it, once there are weights
    used: dict[str, Any] = {name: getattr(triton_kernels, name) for name, why in refusals.items() if why is None}
    return Kernels(**used, unused={name: refusal for name, refusal in refusals.items() if refusal})


@cache
def best_on(device: torch.device) -> Best:
    """Return what finds the best of rows of scores on a device. Loading a model there asks first, before any pass is
    captured."""
    try:
        from decoding.models.fast.triton_kernels import best
    except ImportError:
        return torchs_best
    return torchs_best if device.type != "cuda" or why_wrong_best(best, device) else best


def why_wrong_best(best: Best, device: torch.device) -> str | None:
    return why_wrong(of_broken_too(best), of_broken_too(torchs_best), best_trial(device))


def torchs_best(scores: Tensor) -> Tensor:
    values, ids = scores.max(-1)
    return ids.masked_fill(~torch.isfinite(values), -1)


def rms_norm(rows: Tensor, weight: Tensor, eps: float) -> Tensor:
    return F.rms_norm(rows, weight.shape, weight, eps)


def product(rows: Tensor, weight: Tensor, bias: Tensor | None, *, tile: int, residual: Tensor | None = None) -> Tensor:
    """Do in torch's launches what a kernel does in one."""
    found = F.linear(rows, weight, bias)
    return found if residual is None else residual.add_(found)


def silu_gate(both: Tensor) -> Tensor:
    width = both.shape[1] // 2
    return F.silu(both[:, :width]).mul_(both[:, width:])


def place(
    heads: Tensor, turns: Tensor, slots: Tensor, storage: Tensor, *,
    head_norm: Tensor | None = None, eps: float = 0.0,
) -> Tensor:  # fmt: skip
    keys = storage.shape[1]
    queries = heads.shape[1] - 2 * keys
    turned = heads.to(torch.float32, copy=True)
    if head_norm is not None:
        turned[:, : queries + keys] = F.rms_norm(turned[:, : queries + keys], heads.shape[2:], None, eps) * head_norm
    turn(turned[:, : queries + keys], turns)
    turned = turned.to(storage.dtype)
    new = turned[:, queries:].view(len(heads), 2, keys, -1)
    storage.index_copy_(2, slots, new.permute(1, 2, 0, 3))
    return turned[:, :queries]


def attend_texts(queries: Tensor, storage: Tensor, mask: Tensor) -> Tensor:
    """Attend in several texts at once: queries and storage as `AttendChains` takes them, and a mask
    [texts, 1, rows of a text * group, slots]."""
    rows, heads, width = queries.shape
    _, kv_heads, texts, _, _ = storage.shape
    grouped = queries.to(storage.dtype).reshape(texts, -1, kv_heads, width).transpose(1, 2)
    keys, values = storage.transpose(1, 2).unbind(0)
    mixed = F.scaled_dot_product_attention(grouped, keys, values, mask)
    return mixed.transpose(1, 2).reshape(rows, heads * width)


def attend_chains(queries: Tensor, storage: Tensor, positions: Tensor) -> Tensor:
    """Do by a mask what a kernel does without one."""
    _, kv_heads, texts, slots, _ = storage.shape
    asked = positions.repeat_interleave(queries.shape[1] // kv_heads).view(texts, 1, -1, 1)
    age = asked - torch.arange(slots, device=positions.device)
    mask = torch.zeros(age.shape, dtype=storage.dtype, device=storage.device)
    hide(age, mask)
    return attend_texts(queries, storage, mask)


def hide(age: Tensor, mask: Tensor) -> None:
    """Write a mask by how old each key is for each row."""
    mask.zero_().masked_fill_(age < 0, HIDDEN)


def in_slab(place: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let `place` write to the second text of a slab [2, kv_heads, texts, slots, head_dim], and leave the others."""
    return lambda heads, turns, slots, slab: place(heads, turns, slots, slab[:, :, 1])


def gate_trial(shape: Shape, layout: Layout, device: torch.device) -> tuple[Tensor]:
    return (spread(2, 2 * shape.inner, dtype=layout.dtype, device=device),)


def norm_trial(shape: Shape, layout: Layout, device: torch.device) -> tuple[Tensor, Tensor]:
    both = spread(3, shape.hidden, dtype=layout.dtype, device=device)
    return both[:2], both[2]


def best_trial(device: torch.device) -> tuple[Tensor]:
    """Rows of several parts, with their best in each, one with two."""
    scores = spread(4, 9000, dtype=torch.float32, device=device)
    scores[0, 20] = scores[1, 5000] = scores[2, 8998] = scores[3, 300] = scores[3, 7000] = 9.0
    return (scores[:, :-1],)  # as a vocabulary is cut from what a model answers


def of_broken_too(best: Best) -> Best:
    """Let `best` also find that rows with NaN or infinity have none."""
    return lambda scores: torch.cat([best(scores), best(scores * torch.inf), best(scores.abs() * -torch.inf)])


def place_trial(shape: Shape, layout: Layout, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    heads = spread(2, shape.heads + 2 * shape.kv_heads, shape.head_dim, dtype=layout.dtype, device=device)
    angles = torch.linspace(0, 3, shape.head_dim, device=device).view(2, 1, -1)
    turns = torch.polar(torch.ones_like(angles), angles)
    slots = torch.tensor([7, SLOTS - 1], device=device)
    slab = torch.zeros(2, shape.kv_heads, TEXTS, SLOTS, shape.head_dim, dtype=layout.dtype, device=device)
    return heads, turns, slots, slab


def head_norm_trial(shape: Shape, device: torch.device) -> Tensor | None:
    if shape.family != "qwen3":
        return None
    return spread(shape.heads + shape.kv_heads, shape.head_dim, dtype=torch.float32, device=device)


def attend_trials(shape: Shape, layout: Layout, device: torch.device) -> list[tuple[Tensor, Tensor, Tensor]]:
    """One row and several of each text of a slab, and texts of many lengths, one of them a single token. Last, slots so
    few that one program reads them all."""
    slab = spread(2, shape.kv_heads, TEXTS, SLOTS, shape.head_dim, dtype=layout.dtype, device=device)
    trials = []
    for rows in (1, 5, 24):
        queries = spread(TEXTS * rows, shape.heads, shape.head_dim, dtype=layout.dtype, device=device)
        firsts = torch.tensor([SLOTS - rows, 0, 130], device=device)
        positions = (firsts[:, None] + torch.arange(rows, device=device)).flatten()
        trials.append((queries, slab, positions))
    return [*trials, (queries, slab[:, :, :, :FEWEST], positions % FEWEST)]


def is_right(kernel: Callable[..., Tensor], plain: Callable[..., Tensor], tried: tuple[Tensor, ...]) -> bool:
    """Whether the kernel returns the same numbers, and leaves the same in what it was given."""
    one, other = ([tensor.clone() for tensor in tried] for _ in range(2))
    pairs = zip([kernel(*one), *one], [plain(*other), *other], strict=True)
    return all(_off(a, b) <= CLOSE.get(a.dtype, 0.0) for a, b in pairs)


def why_wrong(kernel: Callable[..., Tensor], plain: Callable[..., Tensor], tried: tuple[Tensor, ...]) -> str | None:
    """Return why a kernel cannot be used; None if it is right."""
    try:
        return None if is_right(kernel, plain, tried) else "Its numbers are not torch's."
    except Exception as error:  # whatever a compiler, or a missing one, fails with: the plain way needs neither
        return reason(error)


def why_not(
    kernel: Callable[..., Tensor], plain: Callable[..., Tensor], tried: tuple[Tensor, ...], capturing: Capturing
) -> str | None:
    """Return why a kernel is not used; None if it is right and faster."""
    if wrong := why_wrong(kernel, plain, tried):
        return wrong
    try:
        one, other = (capturing.time(partial(way, *tried)) for way in (kernel, plain))
    except Exception as error:  # it may run, and not be captured
        return reason(error)
    return None if one < other else f"It takes {1e3 * one:.1f} µs, torch's launches {1e3 * other:.1f} µs."


def reason(error: Exception) -> str:
    """Say what failed: the first line of a message, and the last, where Triton's compiler says what it refuses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *dict.fromkeys(lines[:1] + lines[-1:])])[:LONGEST_REASON]


def _first(refusals: Iterable[str | None]) -> str | None:
    return next((refusal for refusal in refusals if refusal), None)


def _off(got: Tensor, want: Tensor) -> float:
    """Relative error. NaN is an infinite one."""
    got, want = (torch.view_as_real(t) if t.is_complex() else t for t in (got, want))
    scale = want.double().norm().clamp(min=1e-30)
    return float(torch.nan_to_num((got.double() - want.double()).norm() / scale, nan=torch.inf))


def spread(*size: int, **where: Any) -> Tensor:
    """Numbers of many sizes and both signs."""
    count = torch.Size(size).numel()
    return (torch.arange(count, device=where["device"], dtype=torch.float64) * 2.4).sin().mul(3).view(size).to(**where)
