"""The GPU's layout of passes: without a GPU the same launches, uncaptured; with one, captured and replayed."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from decoding.errors import BadPrompt
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.fused import Kernels
from decoding.models.fast.linear import Layout, Linear
from decoding.models.fast.passes import attend_in_steps
from decoding.models.fast.runner import FastRunner
from decoding.ssd.transport.two_lanes import Lane
from tests.kit.chains import Chains
from tests.kit.models import LLAMA, fast_runner, save
from tests.kit.passes import LONG, TEXT, played, walk
from tests.kit.rehearsal import Rehearsal, captured_runner, on_a_gpu, rehearse


@on_a_gpu
def test_replayed_passes_are_the_sliced_ones(tmp_path: Path, device: torch.device) -> None:
    """Each input lies where the recorded launches look for it, also after the storage has grown."""
    folder = save(tmp_path, "llama", **LONG)
    runner, want = captured_runner(folder, device, dtype="float32"), walk(fast_runner(folder))
    before, close = Capturing.made, 1e-4 if device.type == "cpu" else 1e-3
    for _ in range(2):
        torch.testing.assert_close(walk(runner).cpu(), want, atol=close, rtol=close)
        runner.rewind(0)
    recorded = Capturing.made
    walk(runner)
    assert recorded == Capturing.made > before + 4


def test_a_pass_on_an_urgent_stream_has_graphs_of_its_own(tmp_path: Path) -> None:
    """A graph keeps the priority that it was recorded with."""
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    rehearsal = rehearse(runner)
    counts = []
    for rehearsal.priority in (0, -1, 0, -1):
        for start in range(3):
            runner.rewind(0)
            runner.extend(TEXT[start : start + 4])
        counts.append(rehearsal.recorded)
    assert counts == [8, 16, 16, 16]


def test_branches_of_several_numbers_share_what_is_captured(tmp_path: Path) -> None:
    """`ssd` prepares for another number of outcomes in each round."""
    folder = save(tmp_path, "llama", **LLAMA)
    runner, plain = fast_runner(folder, static=True), fast_runner(folder)
    rehearsal, recorded = rehearse(runner), set[int]()
    for each in (runner, plain):
        each.extend(TEXT[:9])
    for count in (8, 7, 6, 5, 8):
        forks = [Chains(each, [7] * count) for each in (runner, plain)]
        for step in range(2):
            got, want = (fork.extend(TEXT[step : step + count]) for fork in forks)
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
        recorded.add(rehearsal.recorded)
    assert recorded == {1}
    for each in (runner, plain):
        forks[each is plain].adopt(3)
    torch.testing.assert_close(runner.extend([4]), plain.extend([4]), atol=1e-4, rtol=1e-4)


def test_caches_are_freed_with_the_runners_that_hold_them(tmp_path: Path) -> None:
    """They may fill a GPU, and Python looks for cycles seldom."""
    model = fast_runner(save(tmp_path, "llama", **LLAMA), static=True).model
    gc.collect()
    gc.disable()
    try:
        for count in (1, 3):
            runners: Any = model.new_runners(count)
            model.extend_all([(runner, TEXT[:3], 3) for runner in runners])
            runners[0].extend(TEXT[:20])
            held = weakref.ref(runners[0].cache.slab.values), weakref.ref(runners[0].cache.values)
            del runners
            assert [values() for values in held] == [None, None]
    finally:
        gc.enable()


def test_a_tied_embedding_is_one_tensor_on_a_device(tmp_path: Path) -> None:
    folder = save(tmp_path, "llama", **LLAMA | {"tie_word_embeddings": True})
    decoder = fast_runner(
        folder, device=torch.device("meta"), static=True, layout=Layout("plain", torch.float32)
    ).decoder
    assert isinstance(decoder.head, Linear) and decoder.head.weight is decoder.embedding


def test_attending_in_steps_rounds_no_scores() -> None:
    """Scores of 100 and more differ by less than bfloat16 can say."""
    dtype, generator = torch.bfloat16, torch.Generator().manual_seed(1)
    queries, keys, values = (torch.randn(2, n, 128, generator=generator).to(dtype) for n in (6, 64, 64))
    queries, mask = queries * 8, torch.zeros(6, 64, dtype=dtype)
    scores = (queries.double() @ keys.double().transpose(1, 2)) * 128**-0.5
    want = scores.softmax(-1) @ values.double()
    off = (attend_in_steps(queries, keys, values, mask).double() - want).norm() / want.norm()
    assert off < 4e-3


@on_a_gpu
def test_a_runner_takes_the_ids_that_it_is_told_if_they_are_as_many_as_it_was_fed(
    tmp_path: Path, device: torch.device
) -> None:
    """A draft that was cut behind an end token tells fewer."""
    runner = captured_runner(save(tmp_path, "llama", **LLAMA), device, dtype="float32")
    for fed, told in (([1, 2, 3], [1, 2]), ([4], [4])):
        runner.extend(torch.tensor(fed, device=device))
        runner.tell(told)
    assert runner.tokens == [1, 2, 3, 4]


@pytest.mark.gpu
def test_a_capture_has_the_priority_of_its_stream() -> None:
    device = torch.device("cuda:0")
    capturing = Capturing(device)
    assert capturing.priority == 0
    with Lane(device, is_urgent=True).current():
        assert capturing.priority == -1


@pytest.mark.parametrize("static", [True, False])
def test_caches_for_short_texts_take_less_memory_and_answer_alike(tmp_path: Path, static: bool) -> None:
    folder, room = save(tmp_path, "llama", **LONG), 60
    model = fast_runner(folder, static=static).model
    runners = model.new_runners(3, room)
    held = [runner.cache.values for runner in runners if isinstance(runner, FastRunner)]
    for got, want in played(runners, fast_runner(folder).model):
        torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
    assert all(values.numel() * values.element_size() == model.bytes_for(room) for values in held)
    assert model.bytes_for(room) < model.bytes_for(0) / 2
    runners[0].rewind(0)
    with pytest.raises(BadPrompt, match="the model holds 60"):
        runners[0].extend([1] * 61)


def test_a_text_of_nan_leaves_nothing_to_the_next_one_in_its_place(tmp_path: Path) -> None:
    """Static passes read what is hidden: the places of other texts' rows, and the last slot, which takes padding."""
    folder, text = save(tmp_path, "llama", **LONG), [token % 96 for token in TEXT[:600]]
    model, whole = fast_runner(folder, static=True).model, fast_runner(folder).extend(text, 600)
    want = {20: whole[:20], 600: whole[-20:]}
    model.decoder.embedding = model.decoder.embedding.clone()
    model.decoder.embedding[96] = torch.nan
    [sick, well], alone = model.new_runners(2), model.new_runner()
    for runner in (sick, alone):
        assert runner.extend([*text[:300], 96]).isnan().all()
        Chains(runner, [301] * 40).extend([96] * 40)
    well.extend(text[:5])
    for runner in (sick, alone):
        for length in (20, 600):
            runner.rewind(0)
            torch.testing.assert_close(runner.extend(text[:length], length)[-20:], want[length], atol=1e-4, rtol=1e-4)
            assert Chains(runner, [length] * 40).extend([5] * 40).isfinite().all()
    assert well.extend([1]).isfinite().all()


@on_a_gpu
def test_replayed_passes_of_a_slab_are_those_of_each_text_alone(tmp_path: Path, device: torch.device) -> None:
    """With the kernels that were chosen, and with torch's launches. The next texts in the same places, and those that
    outgrow theirs once more, need no new captures."""
    folder, capturing = save(tmp_path, "llama", **LONG), Rehearsal() if device.type == "cpu" else None
    model = fast_runner(folder, device=device, static=True, dtype="float32", capturing=capturing).model
    plain, close = fast_runner(folder).model, 1e-4 if capturing else 1e-3
    for kernels in (model.decoder.kernels, Kernels()):
        model.decoder.kernels, runners, recorded = kernels, model.new_runners(3), [Capturing.made]
        for _ in range(4):
            for got, want in played(runners, plain):
                torch.testing.assert_close(got, want, atol=close, rtol=close)
            recorded.append(Capturing.made)
        assert recorded[0] < recorded[2] == recorded[3] == recorded[4]
