"""The models that stay loaded, by their bytes: real models, small ones, in a memory that is smaller still."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import torch

from decoding.models.checkpoints import LoadedModel
from decoding.models.folder import inspect
from tests.kit.models import LLAMA, save
from worker.engine.residents import ROOM, Residents, Spot


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three models of one size."""
    folder = tmp_path_factory.mktemp("models")
    for seed in range(3):
        save(folder / str(seed), "llama", seed=seed, **LLAMA)
    return [folder / str(seed) for seed in range(3)]


class Memory:
    """The memory of a device that holds so many models of that size, each with its cache, and not one more."""

    def __init__(self, models: int, folder: Path) -> None:
        self.size = int(ROOM * inspect(folder).weight_bytes)
        self.bytes = models * self.size
        self._there: list[weakref.ref[LoadedModel]] = []

    def free(self, device: torch.device) -> int:
        gc.collect()
        return self.bytes - sum(self.size for one in self._there if one() is not None)

    def note(self, loaded: LoadedModel) -> LoadedModel:
        if all(one() is not loaded for one in self._there):
            self._there.append(weakref.ref(loaded))
        return loaded

    def count(self) -> int:
        gc.collect()
        return sum(one() is not None for one in self._there)


def test_the_longest_unused_leaves_when_there_is_no_room_and_its_memory_is_free(folders):
    memory = Memory(2, folders[0])
    residents = Residents(memory.free)

    def used(number: int) -> int:
        return id(memory.note(residents.load(Spot(folders[number], "cpu", "target"))).runner)

    first = used(0)
    used(1)
    assert used(0) == first  # it is still there
    used(2)
    assert memory.count() == 2
    assert used(0) == first  # it was 1 that left
    used(1)
    assert memory.count() == 2


def test_a_target_is_not_put_out_for_its_own_draft(folders):
    memory = Memory(1, folders[0])
    residents = Residents(memory.free)
    spot = Spot(folders[0], "cpu", "target")
    target = memory.note(residents.load(spot))
    memory.note(residents.load(Spot(folders[1], "cpu", "draft"), keep=spot))  # the system may still find room for it
    assert memory.note(residents.load(spot)) is target
