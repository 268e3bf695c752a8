"""The devices of a machine, and the sentence about one that is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.errors import BadDevice
from decoding.models.devices import (
    device_called,
    free_bytes,
    give_back,
    is_lost,
    left_in_container,
    sent_to,
    set_threads,
)
from tests.kit.rehearsal import on_a_gpu
from tests.kit.waiting import refusing_waits


@pytest.mark.parametrize("name", ["cuda:99", "abacus", "mps"])
def test_a_device_that_is_not_there_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(BadDevice) as refusal:
        device_called(name)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_more_threads_than_cores_are_refused() -> None:
    with pytest.raises(BadDevice, match="cores"):
        set_threads(10_000)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (torch.AcceleratorError("CUDA error: an illegal memory access was encountered"), True),
        (RuntimeError("CUDA error: unspecified launch failure"), True),
        (torch.AcceleratorError("CUDA error: out of memory"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
    ids=str,
)
def test_a_gpu_is_lost_after_every_error_of_it_but_too_little_memory(error: Exception, wanted: bool) -> None:
    assert is_lost(error) == wanted


def test_the_limit_of_a_container_is_heeded(tmp_path: Path) -> None:
    assert left_in_container(7, tmp_path) == 7
    (tmp_path / "memory.current").write_text("40\n")
    for limit, left in (("max\n", 7), ("100\n", 60), ("30\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        assert left_in_container(7, tmp_path) == left


@pytest.mark.gpu
def test_memory_that_torch_keeps_for_its_next_tensors_is_free() -> None:
    device = torch.device("cuda:0")
    give_back()
    before = free_bytes(device)
    torch.empty(2**28, dtype=torch.uint8, device=device)
    assert abs(free_bytes(device) - before) < 2**24
    assert torch.cuda.memory_reserved(device) >= 2**28
    give_back()
    assert torch.cuda.memory_reserved(device) < 2**28


@on_a_gpu
def test_numbers_are_sent_without_a_stop(device: torch.device) -> None:
    sent_to(device, [1])
    with refusing_waits():
        sent = sent_to(device, [1, 2, 3])
    assert sent.tolist() == [1, 2, 3]
