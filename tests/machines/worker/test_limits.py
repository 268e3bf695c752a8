"""Processes open a stranger's file under limits, and refuse once, in a sentence, what goes beyond them. Models stay
loaded as long as there is memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

from decoding.choice import choose
from decoding.core.load import Load
from decoding.errors import OutOfMemory
from decoding.models.checkpoints import LoadedModel
from decoding.models.folder import inspect
from tests.kit.models import LLAMA, OTHERS, edit, save
from tests.kit.processes import until
from webapp.jobs.models import Job
from worker import memory, spent
from worker.engine.residents import ROOM, Residents, Spot
from worker.engine_process import EngineProcess
from worker.jobs.check_model import CheckModel
from worker.memory import MIB, OverLimit, limit, run_size
from worker.messages import Ended


@pytest.fixture
def folder(checkpoints, tmp_path) -> Path:
    for name, content in checkpoints["target"].items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_an_engine_that_takes_too_much_is_ended_with_a_sentence_and_the_next_is_sound(folder):
    engine = EngineProcess()
    try:
        engine.submit(CheckModel(folder), MIB)  # it may have imported most before it is weighed
        with pytest.raises(OverLimit, match=r"The engine process took more than 0\.\d+ GiB of memory and was ended"):
            while not isinstance(engine.receive(1.0), Ended):
                pass
        engine.submit(CheckModel(folder), limit())
        while not isinstance(engine.receive(1.0), Ended):
            pass
    finally:
        engine.end()


def test_a_check_that_takes_too_long_is_refused_at_the_first_try(monkeypatch, engine, checked):
    engine.end()  # starting takes seconds
    monkeypatch.setattr(CheckModel, "opens_within_s", 0.01)
    monkeypatch.setattr(spent, "STUCK", 1e6)  # on a busy machine that little time takes a while
    model = checked()
    assert (model.state, Job.objects.get().attempt) == ("refused", 1)
    assert "Opening these files took longer than 0 s" in model.reason


def test_a_pair_may_take_what_its_weights_its_longest_text_and_each_cache_need(checkpoints, folder):
    model = inspect(folder)
    short, long = (run_size((model, model), [5, length], 16) for length in (2, 90))
    assert sum(map(len, checkpoints["target"].values())) < short < long < 64 * MIB
    one, two, many = (run_size((model,), [5], 64, [choose("static").at(Load(users))]) for users in (1, 2, 16))
    assert many - one == 15 * (two - one) > 15 * 64 * model.vocab_size * 7  # noise in float32, and a cache as large


def test_a_program_of_the_users_own_is_left_out_of_the_limit():
    gauge = memory.MemoryReader(os.getpid())
    much = gauge.largest() + 200 * MIB
    with subprocess.Popen([sys.executable, "-c", f"held = b'x' * {much}; input()"], stdin=subprocess.PIPE) as own:
        try:
            until(lambda: gauge.largest() > much, "the program to take its memory")
            gauge.spare(own.pid)
            assert gauge.largest() < much
        finally:
            own.kill()


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


def test_the_longest_unused_leaves_when_there_is_no_room_and_its_memory_is_free(folders, tmp_path):
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
    edit(save(tmp_path, "gemma2", **OTHERS["gemma2"]) / "config.json", head_dim=2**16, num_key_value_heads=2**16)
    with pytest.raises(OutOfMemory, match="GiB for a text"):
        residents.load(Spot(tmp_path, "cpu", "target"))
    assert memory.count() == 0


def test_a_target_is_not_put_out_for_its_own_draft(folders):
    memory = Memory(1, folders[0])
    residents = Residents(memory.free)
    spot = Spot(folders[0], "cpu", "target")
    target = memory.note(residents.load(spot))
    memory.note(residents.load(Spot(folders[1], "cpu", "draft"), keep=spot))  # the system may still find room for it
    assert memory.note(residents.load(spot)) is target
