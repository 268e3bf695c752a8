"""Models stay loaded from job to job, the least recently used leaving first when memory gets short."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from decoding.errors import OutOfMemory
from decoding.models.checkpoints import LoadedModel, load
from decoding.models.devices import free_bytes, give_back
from decoding.models.folder import ModelFolder, inspect

ROOM = 2.0  # a model wants this many times its weights free: itself, and its cache of keys and values


@dataclass(frozen=True)
class Spot:
    folder: Path
    device: str
    role: str  # a target and a draft of one folder are two runners: each holds a text of its own
    dtype: str = "auto"
    runner: str = "auto"
    model: ModelFolder | None = field(default=None, compare=False)  # the folder's facts, if they were read before


class Residents:
    def __init__(self, free: Callable[[torch.device], int] = free_bytes) -> None:
        """`free`: how many bytes a device could still hold, by the system's account."""
        self._free = free
        self._loaded: OrderedDict[Spot, LoadedModel] = OrderedDict()

    def load(self, spot: Spot, keep: Spot | None = None) -> LoadedModel:
        """`keep` is not put out to make room."""
        if spot not in self._loaded:
            model = inspect(spot.model or spot.folder)
            self._make_room(model.weight_bytes, torch.device(spot.device), keep)
            self._loaded[spot] = self._load(model, spot, keep)
        self._loaded.move_to_end(spot)
        return self._loaded[spot]

    def _load(self, model: ModelFolder, spot: Spot, keep: Spot | None) -> LoadedModel:
        try:
            return load(model, dtype=spot.dtype, device=torch.device(spot.device), runner=spot.runner)
        except OutOfMemory:
            if not self._evict_one(keep):
                raise
            return self._load(model, spot, keep)

    def _make_room(self, weight_bytes: int, device: torch.device, keep: Spot | None) -> None:
        while self._free(device) < ROOM * weight_bytes and self._evict_one(keep):
            pass

    def _evict_one(self, keep: Spot | None) -> bool:
        oldest = next((spot for spot in self._loaded if spot != keep), None)
        if oldest is None:
            return False
        del self._loaded[oldest]
        give_back()
        return True
