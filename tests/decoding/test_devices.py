"""The devices of a machine, and the sentence about one that is missing."""

from __future__ import annotations

import os

import pytest
import torch

from decoding.errors import BadDevice
from decoding.models.devices import device_called, facts_of, free_bytes, name_of, set_threads, usual_threads, wait_for

CPU = torch.device("cpu")


def test_a_cpu_is_there() -> None:
    assert device_called("cpu") == CPU
    assert name_of(CPU)
    assert 2**20 < free_bytes(CPU) < 2**50
    wait_for(CPU)


def test_auto_is_a_gpu_where_there_is_one() -> None:
    assert device_called("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["cuda:99", "abacus", "mps", "", "cpu:7"])
def test_a_device_that_is_not_there_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(BadDevice) as refusal:
        device_called(name)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("count", [0, 10_000])
def test_more_threads_than_cores_are_refused(count: int) -> None:
    with pytest.raises(BadDevice, match="cores"):
        set_threads(count)


def test_unless_told_otherwise_one_core_stays_free_however_often_it_is_asked() -> None:
    before = torch.get_num_threads()
    count = usual_threads()
    try:
        set_threads(count)
        assert usual_threads() == count >= 1
        assert count < (os.cpu_count() or 1) or count == 1
    finally:
        set_threads(before)


def test_facts_name_the_dtype_and_the_threads() -> None:
    facts = facts_of("fast", CPU, torch.bfloat16, "packed", 128)
    assert (facts.dtype, facts.device, facts.threads) == ("bfloat16", "cpu", torch.get_num_threads())


@pytest.mark.gpu
def test_a_gpu_is_named() -> None:
    device = device_called("cuda")
    assert device == torch.device("cuda:0")
    assert name_of(device)
    assert free_bytes(device) > 2**20
