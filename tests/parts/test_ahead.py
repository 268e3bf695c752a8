"""Passes of a target on a GPU that begin before the host has read what they read: the text stays the same.

Without drafts they choose their own next token, one token ahead. Drafts are judged while their tokens are on their way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from decoding.choice import choose
from decoding.core.ending import Decoded, Ending
from decoding.core.loop import Batch, decode_all
from decoding.core.sequence import SharedPass
from decoding.dice.choosing import LaunchedToken, Look, Picker, Pickers
from decoding.dice.dice import Dice
from decoding.dice.sampling import Sampling
from decoding.drafting.driver import DraftDriver
from decoding.drafting.source import Chain, View
from decoding.errors import BrokenModel
from decoding.models.fast.capturing import Capturing
from decoding.models.fast.runner import TRIED, FastRunner, UnreadDrafts
from decoding.models.runner import run_one
from decoding.trace.events import Recorder, to_dict
from tests.kit.models import LLAMA, fast_runner, save
from tests.kit.passes import LONG, TEXT
from tests.kit.rehearsal import Calling, captured_runner, launching_on, on_a_gpu, rehearse
from tests.kit.waiting import refusing_waits
from tests.kit.worlds import World

ALONE, STATIC = choose("autoregressive"), choose("static", {"lookahead": 4})
SETTINGS: list[dict[str, Any]] = [
    {},
    {"repetition_penalty": 1.3},
    {"temperature": 0.9, "repetition_penalty": 0.8, "top_k": 5},
]


def no_draft() -> DraftDriver:
    return DraftDriver(Chain(), View(), Dice(Sampling(), 1, 0))


def waits() -> DraftDriver:
    """It says that it might draft, so the host chooses, as it does for all who draft."""
    made = no_draft()
    made.drafts = True
    return made


def decoded(
    runner: FastRunner, drafter: DraftDriver, sampling: Sampling, prompt: list[int], ending: Ending | None = None
) -> Decoded:
    return World(runner, runner).run(lambda parts: drafter, prompt, sampling, 3, ending)[0]


@on_a_gpu
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_text_that_is_chosen_ahead_is_the_one_that_the_host_chooses(
    tmp_path: Path, settings: dict[str, Any], device: torch.device
) -> None:
    """Launched first, then captured and replayed, beyond a change of buckets, up to the end of the context."""
    runner = captured_runner(save(tmp_path, "llama", **LONG), device, dtype="float32")
    sampling = Sampling(max_new_tokens=70, ignore_eos=True, **settings)
    for length in (9, 250, 650, 250):
        prompt, recorded = TEXT[:length], Capturing.made
        own = decoded(runner, no_draft(), sampling, prompt)
        assert runner.followers and own == decoded(runner, waits(), sampling, prompt)
        assert len(own.tokens) == min(70, 700 - length)
    assert recorded == Capturing.made


def test_a_text_that_ends_early_leaves_nothing_of_the_pass_ahead(tmp_path: Path) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    rehearse(runner)
    sampling, prompt = Sampling(max_new_tokens=30, **SETTINGS[2]), TEXT[:6]
    whole = decoded(runner, waits(), sampling, prompt, Ending(frozenset())).tokens
    for end in {*whole}:
        ending = Ending(frozenset([end]))
        got, want = (decoded(runner, drafter, sampling, prompt, ending) for drafter in (no_draft(), waits()))
        assert got == want and got.reason == "eos" and got.tokens == whole[: whole.index(end) + 1]
        assert runner.tokens == [*prompt, *got.tokens][: runner.length] and runner.length == 5 + len(got.tokens)


def test_the_next_pass_begins_before_the_host_has_read_the_choice(tmp_path: Path) -> None:
    """It writes keys for a token that nobody knows yet. After the last choice there is none."""
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    rehearse(runner)
    world, begun = World(runner, runner), []
    sampling = Sampling(max_new_tokens=12, ignore_eos=True)
    sequence = world.sequence(ALONE, TEXT[:6], sampling, 1, None, Recorder())
    weigh = sequence.launch_verdict

    def looked(logits: torch.Tensor) -> None:
        begun.append(bool(runner.cache.values[:, :, :, len(sequence.text)].any()))
        weigh(logits)

    sequence.launch_verdict = looked  # type: ignore[method-assign]
    with torch.inference_mode():
        decode_all([sequence])
    assert begun == [True] * 11 + [False]


def test_a_model_that_answers_nan_breaks_its_text_and_no_later_one(tmp_path: Path) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    rehearse(runner)
    sampling = Sampling(max_new_tokens=20, ignore_eos=True)
    want = decoded(runner, waits(), sampling, TEXT[:6])
    healthy = runner.decoder.embedding
    runner.decoder.embedding = healthy.clone()
    runner.decoder.embedding[want.tokens[4]] = torch.nan
    sick = runner.model.new_runner()
    rehearse(sick)
    with pytest.raises(BrokenModel):
        decoded(sick, no_draft(), sampling, TEXT[:6])
    runner.decoder.embedding.copy_(healthy)
    assert decoded(sick, no_draft(), sampling, TEXT[:6]) == want


def test_texts_that_share_passes_in_a_slab_do_not_go_ahead(tmp_path: Path) -> None:
    runners = fast_runner(save(tmp_path, "llama", **LLAMA), static=True).model.new_runners(2)
    world = World(runners[0], runners[1])
    world.run(ALONE, TEXT[:6], Sampling(max_new_tokens=5))
    assert isinstance(runners[0], FastRunner) and not runners[0].followers


def a_pair(tmp_path: Path, device: torch.device) -> World:
    """A target and a draft that resembles it."""
    folder = save(tmp_path, "llama", **LLAMA)
    target, draft = (captured_runner(folder, device, dtype="float32") for _ in range(2))
    noise = torch.randn(draft.decoder.embedding.shape, generator=torch.Generator().manual_seed(1))
    draft.decoder.embedding = draft.decoder.embedding + 0.02 * noise.to(device)
    return World(target, draft, pickers=launching_on(device))


def told(recorder: Recorder) -> list[dict[str, Any]]:
    """Return the events without what differs where drafts are launched whole: times, passes behind an end token, and
    the last digits of probabilities."""
    events = [to_dict(event, 0) for event in recorder.events]
    left_out = "confidence", "passes"
    return [{n: each for n, each in event.items() if not n.endswith("_ns") and n not in left_out} for event in events]


@on_a_gpu
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_draft_that_nobody_has_read_is_judged_as_one_that_was_read(
    tmp_path: Path, settings: dict[str, Any], device: torch.device
) -> None:
    """Also where end tokens cut drafts, and the text goes on with another token."""
    world, accepted = a_pair(tmp_path, device), set[int]()
    launching, sampling = world.pickers, Sampling(max_new_tokens=40, **settings)
    for by in (STATIC, choose("heuristic", {"initial": 2})):
        world.end_tokens = frozenset()
        whole = world.run(by, TEXT[:6], sampling, 3)[0].tokens
        for world.end_tokens in (frozenset[int](), frozenset(range(97)) - {*whole[:-5]}):
            found = []
            for world.pickers in (launching, Calling):
                decoded, recorder = world.run(by, TEXT[:6], sampling, 3)
                found.append((decoded, told(recorder)))
            assert found[0] == found[1]
            accepted |= {event["accepted"] for event in found[0][1] if "accepted" in event}
    assert len(accepted) > 2


def test_only_a_length_that_was_tried_both_ways_often_enough_is_told_and_nothing_is_tried_once_it_is_settled() -> None:
    choice = UnreadDrafts()
    for is_unread in (True, False) * TRIED:
        assert choice.takes_unread(3) == is_unread
        choice.note(3, is_unread, 9000 if is_unread else 5000)
    assert choice.takes_unread(2)
    choice.note(2, True, 1000)
    assert not choice.takes_unread(2)
    choice.note(2, False, 100)
    assert choice.told == {"unread draft of 3": "not used; a round takes 9.0 µs with it, 5.0 µs without"}
    choice.is_settled = True
    assert [choice.takes_unread(2) for _ in range(3)] == [True] * 3 and not choice.takes_unread(3)


class Always(UnreadDrafts):
    def takes_unread(self, length: int) -> bool:
        super().takes_unread(length)
        return True


class Unread(Picker):
    """It counts the tokens that the host reads."""

    read: ClassVar[int] = 0

    def launch(self, *given: Any) -> LaunchedToken:
        return Counted(**vars(super().launch(*given)))


class Counted(LaunchedToken):
    def read(self) -> tuple[int, float, list[float]]:
        Unread.read += 1
        return super().read()


class Counting(Pickers):
    def of(self, sampling: Sampling, look: Look | None) -> Picker:
        return self._made.setdefault(sampling, Unread(sampling, self._vocab, self._device, look))


@on_a_gpu
@pytest.mark.parametrize("settings", SETTINGS[1:], ids=str)
def test_a_verification_is_launched_before_the_host_reads_the_draft(
    tmp_path: Path, settings: dict[str, Any], device: torch.device
) -> None:
    world, sampling = a_pair(tmp_path, device), Sampling(max_new_tokens=60, ignore_eos=True, **settings)
    world.pickers = Counting
    assert isinstance(world.target, FastRunner)
    world.target.judging = Always()
    world.run(STATIC, TEXT[:6], sampling)
    sequence, batch = world.sequence(STATIC, TEXT[:6], sampling, 1, None, Recorder()), Batch()
    with torch.inference_mode():
        batch.admit(sequence)
        while sequence.is_reading:
            batch.play_round()
        batch.play_round()
        batch.play_round()
        for _ in range(6):
            before = Unread.read
            with refusing_waits():
                run_one(sequence.propose())
                reader, tokens, need = sequence.begin_verification()
                sequence.launch_verdict(reader.extend(tokens, need))
            assert Unread.read == before
            sequence.commit_verdict(SharedPass(texts=1, prompt_rows=0, prompts_ns=0))
            assert Unread.read == before + 4
