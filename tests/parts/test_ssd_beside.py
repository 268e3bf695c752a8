"""SSD with the draft in a process of its own: the target's text stays the same, even if that process ends."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar, cast

import pytest
import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.errors import BadDevice, OutOfMemory
from decoding.models.runner import ModelRunner
from decoding.ssd.transport.draft_process import DraftProcess, Patience, placed
from decoding.trace.events import Anticipated, Drafted, Event, Verified
from tests.kit.beside import ANYWHERE, table_draft
from tests.kit.linux import LINUX
from tests.kit.pairs import Letters
from tests.kit.patient import Patient, Striking
from tests.kit.table import TableRunner
from tests.kit.worlds import World, state_of, tables

pytestmark = pytest.mark.slow
ALONE = choose("autoregressive")
BESIDE = choose("ssd", {"placement": "beside"})


def draft_without_room() -> TableRunner:
    raise OutOfMemory("There is no room for the draft.")


class OnceStruck(Patience):
    """Patience as ever, until the draft's process was struck: then it ends soon."""

    struck: ClassVar = False

    def answering_s(self, slowest_s: float) -> float:
        return 0.2 if self.struck else super().answering_s(slowest_s)


@pytest.fixture(scope="module")
def table_world() -> Iterator[World]:
    here = World.of_tables(12, 7)
    with DraftProcess(partial(table_draft, 12, 7), ANYWHERE) as process:
        here.draft_process = process
        yield here


def drafts(events: list[Event]) -> list[Drafted]:
    return [event for event in events if isinstance(event, Drafted)]


def reasons(events: list[Event]) -> list[str]:
    return [event.lost for event in events if isinstance(event, Verified) and event.lost]


@LINUX
def test_the_trace_says_what_was_prepared_and_when(table_world: World) -> None:
    process = table_world.draft_process
    assert process
    process.begin()
    patient = replace(table_world, target=cast(ModelRunner, Patient(table_world.target, process)))
    _, recorder = patient.run(BESIDE, [3, 1], Sampling(max_new_tokens=20), seed=3)
    verdicts = {event.round: event for event in recorder.events if isinstance(event, Verified)}
    found = [event for event in recorder.events if isinstance(event, Anticipated)]
    assert found
    drafted = {draft.round: draft for draft in drafts(recorder.events)}
    for event in found:
        assert drafted[event.round].start_ns < event.start_ns <= event.end_ns  # one clock for both processes
        assert 0 < event.busy_ns <= event.end_ns - event.start_ns
        following = drafted.get(event.round + 1)
        if following and following.source == "hit":
            verdict = verdicts[event.round]
            depths = {(accepted, token): depth for accepted, token, depth in event.branches}
            # An early verdict finds the winner short: it alone goes on, one pass a token.
            assert depths[verdict.accepted, verdict.token] + following.passes >= len(following.tokens)


def struck(world: World, moments: Container[int], deed: Callable[[int], None]) -> World:
    """Decode while `deed` strikes the draft before these passes of the target, in the middle of preparing."""
    assert world.draft_process
    target = cast(ModelRunner, Striking(world.target, world.draft_process, moments, deed))
    return replace(world, target=target)


LONG = Sampling(temperature=0.9, dice="shared", max_new_tokens=120)


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGKILL, "was ended by SIGKILL"), (signal.SIGSTOP, "did not answer within 0.2 s")]
)
def test_a_lost_draft_costs_no_text_and_the_next_sample_has_another(
    table_world: World, number: signal.Signals, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strike(pid: int) -> None:
        os.kill(pid, number)
        monkeypatch.setattr(OnceStruck, "struck", number == signal.SIGSTOP)

    monkeypatch.setattr(table_world.draft_process, "patience", OnceStruck())
    alone, _ = table_world.run(ALONE, [3, 1], LONG, seed=3)
    decoded, recorder = struck(table_world, {random.Random(number).randrange(2, 20)}, strike).run(
        BESIDE, [3, 1], LONG, seed=3
    )
    assert decoded == alone
    [told] = reasons(recorder.events)
    assert reason in told and told.endswith("The target went on alone.")
    assert [event for event in drafts(recorder.events) if event.round >= lost_in(recorder.events)] == []
    monkeypatch.setattr(OnceStruck, "struck", False)
    decoded, again = table_world.run(BESIDE, [3, 1], LONG, seed=3)
    assert decoded == alone and drafts(again.events) and reasons(again.events) == []


def lost_in(events: list[Event]) -> int:
    return next(event.round for event in events if isinstance(event, Verified) and event.lost)


def test_a_draft_that_cannot_be_loaded_is_told_at_once() -> None:
    with DraftProcess(draft_without_room, ANYWHERE) as process:
        with pytest.raises(OutOfMemory, match="no room for the draft"):
            process.begin()
        assert process.pid is None


def test_beside_is_refused_where_there_is_one_core() -> None:
    with pytest.raises(BadDevice, match="two processor cores"):
        placed("beside", None)
    assert placed("auto", None) is None


def test_a_draft_works_on_a_core_beside_a_gpu_only_where_that_is_asked_for(table_world: World) -> None:
    """A core takes longer for a draft of one billion weights than a GPU for a whole target of eight."""
    target, process = TableRunner(tables(12, 7)[0], state_of=state_of), table_world.draft_process
    pair = ModelPair(target, table_world.draft, Letters(), frozenset(), torch.float64, draft_process=process)
    default, beside = parse_choices("ssd:4,ssd:4,placement=beside")
    assert (pair.process_of(default), pair.process_of(beside)) == (process, process)
    target.device = torch.device("cuda:0")
    assert (pair.process_of(default), pair.process_of(beside)) == (None, process)
    assert pair.placement_of(default) == "two-streams"
