"""Slab: the caches of several texts in one tensor, so that a device reads all of the texts in one captured pass.

The text in place t has the slots [t, 0 …] of the slab. A pass takes the same number of rows from each of the first
places; a place with fewer rows, or with none, computes padding, whose keys and values go to its last slot, which no
text reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.models.devices import sent_to
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.decoder import Decoder
from decoding.models.fast.fused import attend_texts
from decoding.models.fast.kv import Cache
from decoding.models.fast.passes import SHORT, PassShape, StaticPass, StaticPasses, Way, slots_for

MOST_ROWS = 16  # of one text in a joint pass
FEW = 8  # rows that are read together whatever they are


def fits(rows: int, need: int) -> bool:
    """Whether rows can share a pass. A piece of a prompt is read alone, or every text would compute as many rows."""
    return rows <= FEW or (rows <= MOST_ROWS and need == rows)


@dataclass(frozen=True)
class NewRows:
    """New rows of one text."""

    cache: SlabCache
    start: int  # tokens that the cache holds
    ids: Tensor | list[int]

    @property
    def end(self) -> int:
        return self.start + len(self.ids)


class Slab:
    def __init__(self, decoder: Decoder, texts: int, slots: int, capturing: Capturing | None) -> None:
        shape = decoder.shape
        self.texts = texts
        self.values = torch.zeros(  # hidden slots are read too, and zero times what memory held before may be NaN
            shape.layers, 2, shape.kv_heads, texts, slots, shape.head_dim,
            dtype=decoder.layout.dtype, device=decoder.device,
        )  # fmt: skip
        self._decoder = decoder
        self._capturing = capturing
        self._passes: dict[PassShape, JointPass] = {}
        self._logits = torch.empty(0)  # of all captured passes: 512 rows of 128,256 take 250 MiB

    def read(self, feeds: Sequence[NewRows]) -> list[Tensor]:
        """Run one pass, and return the logits of each feed's rows."""
        for feed in feeds:
            feed.cache.used = max(feed.cache.used, feed.end)
        joint = self._pass(self._form_of(feeds))
        joint.uses += 1
        if self._capturing and joint.uses > 1 and joint.graph is None:
            self._capture(joint.form, self._capturing)
        joint.fill(feeds)
        logits = joint.launch() if joint.graph is None else joint.replay()
        return [logits[rows] for rows in map(joint.rows_of, feeds)]

    def _form_of(self, feeds: Sequence[NewRows]) -> PassShape:
        texts = _up(max(feed.cache.place for feed in feeds) + 1, self.texts)
        rows = _up(max(len(feed.ids) for feed in feeds), MOST_ROWS)
        return self._form(texts, rows, slots_for(max(feed.end for feed in feeds), self.values.shape[4]))

    def _form(self, texts: int, rows: int, slots: int) -> PassShape:
        priority = self._capturing.priority if self._capturing else 0
        return PassShape(texts * rows, texts * rows, slots, is_tree=False, priority=priority, texts=texts)

    def _pass(self, form: PassShape) -> JointPass:
        if form not in self._passes:
            self._passes[form] = JointPass(form, self._decoder, self.values)
        return self._passes[form]

    def _capture(self, form: PassShape, capturing: Capturing) -> None:
        """Capture the form, and with it all numbers of texts and rows that may be asked for in any round: a capture
        takes longer than many rounds."""
        most = max(FEW, form.rows // form.texts)
        if len(self._logits) < self.texts * most:
            self._logits = self.values.new_empty(self.texts * most, self._decoder.shape.vocab_size, dtype=torch.float32)
        for texts in _sizes(self.texts):
            for rows in _sizes(most):
                joint = self._pass(self._form(texts, rows, form.slots))
                if joint.graph is None:
                    joint.capture_into(self._logits, capturing)


class SlabCache(Cache):
    """One place of a slab. A text that outgrows it, by branches, is read alone until it ends."""

    def __init__(self, slab: Slab, place: int) -> None:
        self.place = place
        self.used = 0
        self.values = self._lent = slab.values[:, :, :, place]
        self._slab = slab
        self._own: Tensor | None = None  # storage that once was needed, kept for the next text that outgrows the place

    @property
    def slab(self) -> Slab | None:
        """None where the text has outgrown its place."""
        return self._slab if self.values is self._lent else None

    @property
    def storages(self) -> Sequence[Tensor]:
        return (self._lent,) if self._own is None else (self._lent, self._own)

    def reserve(self, slots: int, used: int) -> None:
        if slots <= self.slots:
            return
        if self._own is not None and self.slab:
            self._own[:, :, :, :used] = self.values[:, :, :, :used]
            self.values = self._own
        super().reserve(slots, used)
        self._own = self.values

    def clear(self) -> None:
        """Erase the text, and what padding has left in the last slot. The next text begins in the slab."""
        super().clear()
        self._lent[:, :, :, -1].zero_()
        self.values = self._lent


class SlabPasses(StaticPasses):
    """Passes of one text in a slab. Its short chains have the forms of the slab, which are captured once for all texts;
    most pieces of prompts have a length that comes once."""

    def __init__(self, decoder: Decoder, cache: SlabCache, capturing: Capturing | None) -> None:
        super().__init__(decoder, cache, capturing)
        self._place = cache

    def chain(self, ids: Tensor, start: int, need: int) -> Tensor:
        slab = self._place.slab
        if slab and fits(len(ids), need):
            [logits] = slab.read([NewRows(self._place, start, ids)])
            return logits[len(ids) - need :]
        return super().chain(ids, start, need)

    def _comes_again(self, form: PassShape) -> bool:
        is_piece = form.rows <= SHORT and not form.is_tree  # of a prompt: short verifications have the slab's forms
        return not (is_piece and self._place.slab) and super()._comes_again(form)


class JointPass(StaticPass):
    """A static pass over the first places of a slab, row after row of one text, then of the next."""

    def __init__(self, form: PassShape, decoder: Decoder, values: Tensor) -> None:
        super().__init__(form, decoder, values)
        self._rows = form.rows // form.texts
        self.slots = torch.zeros_like(self.positions)
        self._scratch = [place * values.shape[4] + values.shape[4] - 1 for place in range(form.texts)]
        self.mask = self.mask.view(form.texts, 1, -1, form.slots)

    def rows_of(self, feed: NewRows) -> slice:
        first = feed.cache.place * self._rows
        return slice(first, first + len(feed.ids))

    def fill(self, feeds: Sequence[NewRows]) -> None:
        """Write the rows to the buffers, with one copy for all ids that are on the host."""
        slots_of_text = self._values.shape[4]
        ids, positions = [0] * self.form.rows, [0] * self.form.rows
        slots = [self._scratch[number // self._rows] for number in range(self.form.rows)]
        for feed in feeds:
            own, first = self.rows_of(feed), feed.cache.place * slots_of_text
            positions[own] = range(feed.start, feed.end)
            slots[own] = range(first + feed.start, first + feed.end)
            ids[own] = [0] * len(feed.ids) if isinstance(feed.ids, Tensor) else feed.ids
        numbers = sent_to(self.ids.device, [ids, positions, slots])
        for buffer, values in zip((self.ids, self.positions, self.slots), numbers, strict=True):
            buffer.copy_(values)
        on_device = [(self.rows_of(feed), feed.ids) for feed in feeds if isinstance(feed.ids, Tensor)]
        if on_device:
            rows = [row for own, _ in on_device for row in range(self.form.rows)[own]]
            self.ids.index_copy_(0, sent_to(self.ids.device, rows), torch.cat([ids for _, ids in on_device]))

    def capture_into(self, logits: Tensor, capturing: Capturing) -> None:
        """Record a run over padding. The rows of an earlier round must not be written again."""

        def launch() -> Tensor:
            return logits[: self.form.rows].copy_(self.launch())

        self.fill(())
        self._record(launch, capturing)

    def storage(self, layer: int) -> Tensor:
        return self._values[layer].flatten(2, 3)

    def _masked_ways(self) -> list[Way]:
        return [self._masked_texts]

    def _masked_texts(self, layer: int, queries: Tensor) -> Tensor:
        return attend_texts(queries, self._texts_of(layer), self.mask)

    def _texts_of(self, layer: int) -> Tensor:
        return self._values[layer, :, :, : self.form.texts, : self.form.slots]


def _up(count: int, most: int) -> int:
    """The next power of two, at most `most`: few forms are captured."""
    return min(1 << (count - 1).bit_length(), max(most, count))


def _sizes(most: int) -> list[int]:
    """All powers of two below `most`, and `most`."""
    return sorted({_up(count, most) for count in range(1, most + 1)})
