"""The layers of a one-row pass, recorded once and then run by torch without Python.

Such a pass is hundreds of small operations, and Python's share of each is larger than the arithmetic of a small model.
The recording does the same operations in the same order, so its numbers are the same. Passes of more rows have masks,
and too many forms to record.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from decoding.models.fast.decoder import Decoder
from decoding.models.fast.kv import Rows

RECORD_AT = 2  # uses: a model that is only looked at reads one row once or never


class TracedLayers:
    """Runs a decoder's layers, for all texts of a model."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._uses = 0
        self._recording: Callable[..., Tensor] | None = None

    def __call__(self, hidden: Tensor, turns: Tensor | None, rows: Rows) -> Tensor:
        if rows.count > 1 or any(mask is not None for mask in rows.masks):
            return self._decoder.layered(hidden, turns, rows)
        self._uses += 1
        given = [hidden, *([] if turns is None else [turns]), *rows.new, *rows.seen]
        if self._uses == RECORD_AT:
            self._recording = self._recorded(given, rows)
        return self._recording(*given) if self._recording else self._decoder.layered(hidden, turns, rows)

    def _recorded(self, given: Sequence[Tensor], rows: Rows) -> Callable[..., Tensor] | None:
        layers, decoder = self._decoder.shape.layers, self._decoder

        def layered(hidden: Tensor, *others: Tensor) -> Tensor:
            views = others[-3 * layers :]
            turns = others[0] if len(others) > len(views) else None
            return decoder.layered(hidden, turns, rows.over(views[:layers], views[layers:]))

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch announces its end; the pin decides when that matters
                trace: Any = torch.jit.trace  # it has no types
                recording: Callable[..., Tensor] = trace(layered, tuple(given), check_trace=False)
                for _ in range(2):  # it learns types in its first run and optimizes in its second
                    recording(*given)
        except Exception:  # whatever a recorder fails with that a Python or torch to come no longer has
            return None
        return recording
