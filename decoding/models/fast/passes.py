"""The layout of a pass in memory: a CPU cuts tensors to size, a GPU keeps every address and shape the same.

A pass appends rows. `chain` appends them to the text; `tree` appends one to each branch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.models.fast.capturing import Capturing
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.fused import AttendChains, hide, reason
from decoding.models.fast.kv import HIDDEN, Cache, Rows
from decoding.models.fast.lean import Lean

SHORTEST = 256  # slots that a static pass looks at; it doubles as the text grows
MOST_CAPTURED_ROWS = 64  # a longer pass is a prompt, and comes once
FEW, USUAL, SHORT = 2, 8, 16  # rows of a pass that drafts, and of those that verify

logger = logging.getLogger("drafthouse.engine")

# Queries [kv_heads, rows * group, head_dim], keys and values [kv_heads, slots, head_dim], mask -> the shape of queries
Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Way = Callable[[int, Tensor], Tensor]  # layer, queries [rows, heads, head_dim] -> [rows, heads * head_dim]


class Follower(Protocol):
    """The token that the next pass of a text reads, and the choice after it, on the device."""

    ids: Tensor  # [1]
    positions: Tensor  # [1]

    @property
    def changed(self) -> Sequence[Tensor]:
        """Tensors that `next_of` writes to."""

    def next_of(self, logits: Tensor) -> Tensor:
        """Launch the choice from logits [1, V]. Return the token [1], negative if the model is broken."""


class SlicedPasses:
    """Passes whose rows see exactly the slots that are in use: nothing is computed for the rest."""

    captures = False  # whether passes are captured: these read hidden slots too, and a larger cache needs new ones

    def __init__(self, decoder: Decoder, cache: Cache, lean: Lean) -> None:
        """Passes over caches of one model share `lean`."""
        self._decoder = decoder
        self._cache = cache
        self._lean = lean

    def chain(self, ids: Tensor, start: int, need: int) -> Tensor:
        return self._read(ids, Rows(self._cache, self._decoder.shape, start, len(ids)), need)

    def tree(self, ids: Tensor, tree: Rows) -> Tensor:
        return self._read(ids, tree, tree.count)

    def _read(self, ids: Tensor, rows: Rows, need: int) -> Tensor:
        hidden = self._lean.layered(*self._decoder.embedded(ids, rows), [rows], rows)
        return self._decoder.logits(hidden, need)


class StaticPasses:
    """Passes of a form read the same buffers and do the same launches, so that each form is captured once and replayed.
    Rows look at a fixed number of slots, and a mask hides those that are not theirs."""

    captures = True

    def __init__(self, decoder: Decoder, cache: Cache, capturing: Capturing | None) -> None:
        """Passes over caches of one model share `capturing`, so only one of them may replay at a time."""
        self._decoder = decoder
        self._cache = cache
        self._values: Tensor | None = None
        self._captured: dict[int, dict[PassShape, StaticPass]] = {}  # by the address of their storage
        self._forms: dict[PassShape, StaticPass] = {}  # those of the storage in use
        self._capturing = capturing

    def chain(self, ids: Tensor, start: int, need: int) -> Tensor:
        rows = len(ids)
        is_short = rows <= SHORT  # then all rows are asked for: few forms matter more than a few rows of logits
        form = self._form(rows, rows if is_short else need, start + rows, is_tree=False)
        static = self._static(form)
        torch.arange(start, start + rows, out=static.positions)
        is_new = static.graph is None
        static.ids.copy_(ids, non_blocking=True)
        logits = self._replayed(static)
        if is_short and is_new and static.graph:
            self._capture_alike(form, start + rows)
        return logits[len(logits) - need :]

    def tree(self, ids: Tensor, tree: Rows) -> Tensor:
        count, start, positions, mask = tree.count, tree.start, tree.positions, tree.tree_mask
        assert isinstance(positions, Tensor) and mask is not None
        rows = 1 << (count - 1).bit_length()  # few forms are captured
        rows = rows if rows <= min(MOST_CAPTURED_ROWS, self._cache.slots - start) else count
        form = self._form(rows, rows, start + rows, is_tree=True)
        static = self._static(form)
        torch.arange(start, start + rows, out=static.slots)
        static.positions[:count] = positions
        static.ids[:count] = ids
        filled = static.mask
        filled[: len(mask), : mask.shape[1]] = mask
        filled[: len(mask), mask.shape[1] :] = HIDDEN
        filled[len(mask) :] = filled[len(mask) - 1]
        static.positions[count:], static.ids[count:] = positions[-1], ids[-1]
        return self._replayed(static)[:count]

    def follow(self, follower: Follower, start: int) -> Tensor:
        """Append the token that `follower` holds, and return what it chooses to come next."""
        return self._replayed(self._static(self._form(1, 1, start + 1, is_tree=False, follower=follower)))

    def _form(self, rows: int, need: int, seen: int, is_tree: bool, follower: Follower | None = None) -> PassShape:
        self._cache.used = max(self._cache.used, seen)
        priority = self._capturing.priority if self._capturing else 0
        return PassShape(rows, need, slots_for(seen, self._cache.slots), is_tree, priority, follower=follower)

    def _static(self, form: PassShape) -> StaticPass:
        if self._values is not self._cache.values:
            self._find_forms()
        kind = FollowingPass if form.follower else StaticPass
        static = self._forms.get(form) or kind(form, self._decoder, self._cache.values)
        if self._comes_again(form):
            self._forms[form] = static
        return static

    def _find_forms(self) -> None:
        """Take up the forms of the storage in use, and drop those of storage that was replaced."""
        addresses = [values.data_ptr() for values in self._cache.storages]
        self._captured = {address: self._captured.get(address, {}) for address in addresses}
        self._values = self._cache.values
        self._forms = self._captured[self._values.data_ptr()]

    def _comes_again(self, form: PassShape) -> bool:
        """Say if a form is worth a capture. A capture takes longer than a prompt's pass, and would fall into the time
        of whichever strategy reads the prompt second."""
        return form.need == form.rows <= MOST_CAPTURED_ROWS

    def _capture_alike(self, form: PassShape, end: int) -> None:
        """Capture with a chain also those that drafts of other lengths need, as long as the warm-up lasts: a capture
        takes longer than many rounds. They write behind the text, where the text overwrites it."""
        most = FEW if form.rows <= FEW else max(USUAL, 1 << (form.rows - 1).bit_length())
        most = min(most, form.slots - end, self._decoder.context - end)
        self._cache.used = max(self._cache.used, end + most)
        for rows in range(1, most + 1):
            static = self._static(replace(form, rows=rows, need=rows))
            if self._capturing and static.graph is None:
                static.uses += 1
                torch.arange(end, end + rows, out=static.positions)
                static.capture(self._capturing)

    def _replayed(self, static: StaticPass) -> Tensor:
        static.uses += 1
        # A form that comes a second time will come again; most prompts' lengths come once.
        if self._capturing is None or static.uses == 1:
            return static.launch()
        if static.graph is None:
            static.capture(self._capturing)
        return static.replay()


Passes = SlicedPasses | StaticPasses


def slots_for(seen: int, most: int) -> int:
    """Return how many slots a pass looks at whose rows see so many."""
    return min(most, max(SHORTEST, 1 << (seen - 1).bit_length()))


@dataclass(frozen=True)
class PassShape:
    """The properties that two passes must share to be the same launches."""

    rows: int
    need: int
    slots: int  # how many the rows look at
    is_tree: bool
    priority: int  # of the stream: where two streams share a device, the urgent one's graphs must be urgent too
    texts: int = 1  # of a slab
    follower: Follower | None = None


class StaticPass:
    """The buffers of one form, and its graph once that is captured. It is the `KvSlots` of its own launches."""

    def __init__(self, form: PassShape, decoder: Decoder, values: Tensor) -> None:
        device, shape = decoder.device, decoder.shape
        self.form = form
        self.uses = 0
        self.ids = torch.zeros(form.rows, dtype=torch.long, device=device)
        self.positions = torch.zeros(form.rows, dtype=torch.long, device=device)
        self.slots = torch.zeros_like(self.positions) if form.is_tree else self.positions
        self.mask = torch.full((form.rows * shape.group, form.slots), HIDDEN, dtype=values.dtype, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self._decoder = decoder
        self._values = values
        self._keys = torch.arange(form.slots, device=device)
        self._way = 0  # its number: a bound method of its own would keep a pass and its storage alive
        self._logits = torch.empty(0)

    def launch(self) -> Tensor:
        if not self.form.is_tree and self._way < len(self._masked_ways()):
            self._mask_chain()
        return self._decoder(self.ids, self, self.form.need)

    def capture(self, capturing: Capturing) -> None:
        """Run, choose how to attend, then record one run.

        Running twice writes the same keys and values to the same slots twice."""
        self._record(self.launch, capturing)

    def _record(self, launch: Callable[[], Tensor], capturing: Capturing) -> None:
        for _ in range(2):
            self._run_aside(launch, capturing)
        self._choose_attention(capturing)
        self._run_aside(launch, capturing)
        self.graph, self._logits = capturing.record(launch)

    def _run_aside(self, launch: Callable[[], Tensor], capturing: Capturing) -> None:
        with capturing.aside():
            launch()

    def replay(self) -> Tensor:
        """Replay the graph, and copy its logits: the next graph of the pool overwrites them."""
        assert self.graph is not None
        self.graph.replay()
        return self._logits.clone()

    def storage(self, layer: int) -> Tensor:
        """[2, kv_heads, slots, head_dim], in which each row takes a slot"""
        return self._values[layer]

    def write(self, layer: int, keys_and_values: Tensor) -> None:
        new = keys_and_values.permute(1, 2, 0, 3).to(self._values.dtype)
        self.storage(layer).index_copy_(2, self.slots, new)

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        return self._ways()[self._way](layer, queries)

    def _ways(self) -> list[Way]:
        attend = None if self.form.is_tree else self._decoder.kernels.attend  # a tree needs its mask
        return self._masked_ways() + ([partial(self._without_mask, attend)] if attend else [])

    def _masked_ways(self) -> list[Way]:
        return [partial(self._masked, way) for way in (attend_at_once, attend_in_steps)]

    def _masked(self, way: Attend, layer: int, queries: Tensor) -> Tensor:
        shape = self._decoder.shape
        rows, group = self.form.rows, shape.group
        grouped = queries.to(self._values.dtype).reshape(rows * group, shape.kv_heads, shape.head_dim).transpose(0, 1)
        keys, values = self._values[layer, :, :, : self.form.slots].unbind(0)
        mixed = way(grouped, keys, values, self.mask)
        return mixed.transpose(0, 1).reshape(rows, shape.heads * shape.head_dim)

    def _without_mask(self, attend: AttendChains, layer: int, queries: Tensor) -> Tensor:
        return attend(queries.to(self._values.dtype), self._texts_of(layer), self.positions)

    def _texts_of(self, layer: int) -> Tensor:
        """[2, kv_heads, texts, slots, head_dim]"""
        return self._values[layer, :, :, None, : self.form.slots]

    def _mask_chain(self) -> None:
        """Write the mask from the positions, in the launches themselves."""
        group = self._decoder.shape.group
        age = self.positions.repeat_interleave(group, output_size=self.form.rows * group).unsqueeze(1)
        hide((age - self._keys).view_as(self.mask), self.mask)

    def _choose_attention(self, capturing: Capturing) -> None:
        """Time all ways, for texts that fill 3/4 of the slots, as they do on average: which is fastest depends on rows,
        heads, slots and the device."""
        ways = self._ways()
        if len(ways) == 1:
            return
        shape, held = self._decoder.shape, self.positions.clone()
        queries = self._values.new_zeros(self.form.rows, shape.heads, shape.head_dim)
        self.positions.fill_(self.form.slots * 3 // 4)
        times = [_time(partial(way, 0, queries), capturing) for way in ways]
        self._way = times.index(min(times))
        self.positions.copy_(held)


def attend_at_once(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None], mask)[0]


def attend_in_steps(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attend by ordinary products: more launches, but all of the device works on one long text."""
    scores = torch.add(mask, _scores(queries, keys.transpose(1, 2)), alpha=queries.shape[-1] ** -0.5)
    return torch.bmm(scores.softmax(-1).to(values.dtype), values)


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Multiply into float32 whatever the inputs are: rounded scores would be other scores than a CPU's."""
    if queries.dtype == torch.float32:
        return torch.bmm(queries, keys)
    if queries.device.type == "cuda":
        return torch.bmm(queries, keys, out_dtype=torch.float32)
    return torch.bmm(queries.float(), keys.float())


def _time(way: Callable[[], Tensor], capturing: Capturing) -> float:
    """Time a way to attend. One that this version of torch, or this device, refuses takes for ever."""
    try:
        return capturing.time(way)
    except Exception as error:
        logger.warning("One way to attend is not used, because it fails here: %s", reason(error))
        return math.inf


class FollowingPass(StaticPass):
    """A static pass of one row. Its launches also choose the next token, and move the follower on to it."""

    def __init__(self, form: PassShape, decoder: Decoder, values: Tensor) -> None:
        super().__init__(form, decoder, values)
        assert form.follower
        self._follower = follower = form.follower
        self.ids, self.positions, self.slots = follower.ids, follower.positions, follower.positions

    def launch(self) -> Tensor:
        chosen = self._follower.next_of(super().launch())
        self.ids.copy_(chosen.clamp(min=0))
        self.positions.add_(1)
        return chosen

    def capture(self, capturing: Capturing) -> None:
        """Record, and leave the follower where it was."""
        with self._staying():
            super().capture(capturing)

    def _run_aside(self, launch: Callable[[], Tensor], capturing: Capturing) -> None:
        with self._staying():  # a position further on may have no place in the cache
            super()._run_aside(launch, capturing)

    @contextmanager
    def _staying(self) -> Iterator[None]:
        state = (self.ids, self.positions, *self._follower.changed)
        held = [tensor.clone() for tensor in state]
        yield
        for tensor, before in zip(state, held, strict=True):
            tensor.copy_(before)
