"""SSD with the draft in a process of its own: the text stays the target's, even if that process ends."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, cast

import pytest
import torch

from decoding.backends.contestants.base import Request
from decoding.backends.pair import ModelPair
from decoding.choice import parse_choices
from decoding.core.ending import Decoded, Ending
from decoding.core.load import ONE, Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadDevice, OutOfMemory
from decoding.models.runner import ModelRunner, run_one
from decoding.ssd.speculator.speculator import SpeculatorRecipe
from decoding.ssd.transport.beside import BesideExchange
from decoding.ssd.transport.draft_process import DraftProcess, Patience, placed
from decoding.ssd.transport.draft_server import DraftServer, serve
from decoding.ssd.transport.exchange import SsdDrafter
from decoding.ssd.transport.mailbox import answering, connect
from decoding.ssd.transport.messages import check_reply, pack_entry
from decoding.trace.events import Drafted, Event, Recorder, Verified
from decoding.trace.timing import Clock
from tests.kit.beside import ANYWHERE, PROMPTS, SAMPLINGS, run, table_draft, texts
from tests.kit.pairs import Letters
from tests.kit.processes import LINUX
from tests.kit.runners import Patient, Striking
from tests.kit.table import TableModel, TableRunner
from tests.kit.worlds import World, some_classifier, state_of, tables

pytestmark = pytest.mark.slow
ALONE, BESIDE = parse_choices("autoregressive,ssd:4,branches=16,backup=neural,placement=beside")


class Asking(DraftProcess):
    """A process that counts the questions it is asked."""

    asked = 0

    def ask(self, question: bytes, patience_s: float) -> bytearray:
        self.asked += 1
        return super().ask(question, patience_s)


def paired(target: ModelRunner, draft: ModelRunner, process: DraftProcess) -> ModelPair:
    made = ModelPair(target, draft, Letters(), frozenset(), torch.float64, draft_process=process)
    made.hold("", some_classifier())
    return made


def of_tables(process: DraftProcess) -> ModelPair:
    world = World.of_tables(12, 7)
    return paired(world.target, world.draft, process)


@pytest.fixture(scope="module")
def process() -> Iterator[Asking]:
    with Asking(partial(table_draft, 12, 7), ANYWHERE) as process:
        yield process


def reasons(events: Sequence[Event]) -> list[str]:
    return [event.lost for event in events if isinstance(event, Verified) and event.lost]


def test_three_tokens_under_ratio_dice_follow_the_targets_joint_distribution() -> None:
    """The coins lie in two processes, so they cannot be enumerated as in `tests/laws`. Where a clock decides, as in
    hits, the same seeds give other draws each time. So draws that look wrong are made anew, 4 times as many, and have
    to look right then: 1 fair draw of 1,000,000 is refused."""
    target, draft = tables(3, seed=5, sharpness=0.7, noise=1.2)
    p = torch.softmax(target, -1)
    law = {
        words: math.prod(float(p[state_of([0, 1, 2, *words[:i]]), word]) for i, word in enumerate(words))
        for words in itertools.product(range(3), repeat=3)
    }
    with DraftProcess(partial(table_draft, 3, 5, sharpness=0.7, noise=1.2), ANYWHERE) as process:
        pair = paired(*(TableRunner(t, 4096, state_of) for t in (target, draft)), process)
        sampling, at = Sampling(temperature=1.0, dice="ratio", max_new_tokens=5), Load(8)

        def chi_square(seeds: range) -> float:
            """It lies below 54.05 for 99.9 % of fair draws: 26 degrees of freedom."""
            requests = [Request(BESIDE.at(at), [0, 1, 2], sampling, seed, Ending(frozenset())) for seed in seeds]
            heard = [Recorder() for _ in seeds]
            sinks = iter(heard)
            answers = [answer for _, answer in pair.contestant(BESIDE).run(requests, lambda _: next(sinks), never, at)]
            assert not [reason for recorder in heard for reason in reasons(recorder.events)]
            counts = Counter(tuple(answer.tokens[:3]) for answer in answers if isinstance(answer, Decoded))
            assert counts.total() == len(seeds)
            shares = ((words, len(seeds) * share) for words, share in law.items())
            return sum((counts[words] - expected) ** 2 / expected for words, expected in shares)

        assert any(chi_square(seeds) < 54.05 for seeds in (range(240), range(240, 1900)))


@LINUX
def test_a_hit_of_a_single_text_asks_nothing(process: Asking) -> None:
    """The target takes what is ready from the board."""
    process.begin()
    before, world = process.asked, World.of_tables(12, 7)
    patient = World(cast(ModelRunner, Patient(world.target, process)), world.draft, draft_process=process)
    _, recorder = patient.run(BESIDE, [3, 1], SAMPLINGS["shared"], seed=3)
    drafts = [event for event in recorder.events if isinstance(event, Drafted)]
    misses = sum(event.source != "hit" for event in drafts)
    assert misses < len(drafts) and process.asked - before <= misses + 2  # it enters, and its last draft is empty


def test_one_message_carries_the_verdicts_of_a_joint_verification(process: Asking) -> None:
    pair = of_tables(process)
    process.begin()
    before = process.asked
    found = run(pair, BESIDE, SAMPLINGS["greedy"], Load(8))
    rounds = sum(isinstance(event, Verified) for _, recorder in found.values() for event in recorder.events)
    assert process.asked - before < rounds / 3 + len(PROMPTS)


@dataclass(frozen=True)
class Remade(TableModel):
    """A table that counts the runners made of it."""

    made: list[TableRunner] = field(default_factory=list)

    def new_runner(self) -> TableRunner:
        runner = super().new_runner()
        self.made.append(runner)
        return runner


def draft_model() -> Remade:
    return Remade(table_draft(12, 7).table, 4096, state_of)


def recipe(rows: int = 12) -> SpeculatorRecipe:
    return SpeculatorRecipe(SpeculatorSettings(3, rows, "uniform", "neural"), Sampling(), 12, 0, ())


@torch.inference_mode()
def test_a_text_that_has_ended_leaves_its_cache_to_the_next_one() -> None:
    model = draft_model()
    here, far = connect(1 << 16, 1 << 16, 1 << 16, 1 << 16)
    there = answering(far)
    server = DraftServer(there, model.new_runner())

    def enter(number: int, *running: int) -> None:
        server.reply(bytearray(pack_entry(number, recipe(), [3, 3], running)))
        check_reply(here.wait(1.0))

    for number in range(3):
        enter(number, *range(number))
    assert len(model.made) == 3
    enter(7, 0, 2)
    assert len(model.made) == 3
    enter(8, 0, 2, 7)
    assert len(model.made) == 4
    here.close()
    there.close()
    os.close(far.memory)


def test_what_another_exchange_has_overwritten_is_not_waited_for(process: Asking) -> None:
    """The texts of the first one broke off before anybody asked for their postscripts."""
    first, second = BesideExchange(process), BesideExchange(process)
    draft = World.of_tables(12, 7).draft
    for exchange in (first, second, first):
        drafter = SsdDrafter(exchange, recipe(), draft, Clock())
        drafter.prepare([2, 1])
        assert run_one(drafter.draft_steps([2, 1], 20)).origin == "fresh" and not drafter.why_lost


class Killing(Recorder):
    """Kills the process in one round of its text."""

    def __init__(self, process: DraftProcess, at_round: int) -> None:
        super().__init__()
        self._process, self._at_round = process, at_round

    def emit(self, event: Event) -> None:
        super().emit(event)
        if isinstance(event, Verified) and event.round == self._at_round:
            os.kill(self._process.pid or 0, signal.SIGKILL)


def test_a_killed_draft_process_costs_no_text_and_later_texts_have_another(process: Asking) -> None:
    pair = of_tables(process)
    process.begin()
    alone = texts(run(pair, ALONE, SAMPLINGS["shared"], ONE))
    sinks = iter([Killing(process, 3), *(Recorder() for _ in PROMPTS[1:])])
    found = run(pair, BESIDE, SAMPLINGS["shared"], Load(3), lambda: next(sinks))
    assert texts(found) == alone
    told = [reasons(recorder.events) for _, recorder in found.values()]
    lost = [reason for reason in told if reason]
    assert 1 <= len(lost) <= 3
    for [reason] in lost:
        assert "The draft's process" in reason and reason.endswith("The target went on alone.")
    *_, (_, last) = found.values()
    assert reasons(last.events) == [] and any(isinstance(event, Drafted) for event in last.events)


def draft_without_room() -> TableRunner:
    raise OutOfMemory("There is no room for the draft.")


class OnceStruck(Patience):
    """Patience as ever, until the draft's process was struck: then it ends soon."""

    struck: ClassVar = False

    def answering_s(self, slowest_s: float) -> float:
        return 0.2 if self.struck else super().answering_s(slowest_s)


@pytest.fixture
def table_world(process: Asking) -> World:
    here = World.of_tables(12, 7)
    here.draft_process = process
    return here


def drafts(events: list[Event]) -> list[Drafted]:
    return [event for event in events if isinstance(event, Drafted)]


LONG = Sampling(temperature=0.9, dice="shared", max_new_tokens=120)


def test_a_silent_draft_costs_no_text_and_the_next_sample_has_another(
    table_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strike(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        monkeypatch.setattr(OnceStruck, "struck", True)

    monkeypatch.setattr(table_world.draft_process, "patience", OnceStruck())
    alone, _ = table_world.run(ALONE, [3, 1], LONG, seed=3)
    target = cast(ModelRunner, Striking(table_world.target, table_world.draft_process, 7, strike))  # type: ignore[arg-type]
    decoded, recorder = replace(table_world, target=target).run(BESIDE, [3, 1], LONG, seed=3)
    assert decoded == alone
    [told] = reasons(recorder.events)
    assert "did not answer within 0.2 s" in told and told.endswith("The target went on alone.")
    assert [event for event in drafts(recorder.events) if event.round >= lost_in(recorder.events)] == []
    monkeypatch.setattr(OnceStruck, "struck", False)
    decoded, again = table_world.run(BESIDE, [3, 1], LONG, seed=3)
    assert decoded == alone and drafts(again.events) and reasons(again.events) == []


def lost_in(events: list[Event]) -> int:
    return next(event.round for event in events if isinstance(event, Verified) and event.lost)


def test_a_draft_that_cannot_be_loaded_is_told_at_once() -> None:
    here, far = connect(1 << 16, 1 << 16, 1 << 16, 1 << 16)
    here.send(pickle.dumps(draft_without_room))
    serve(answering(far))
    with pytest.raises(OutOfMemory, match="no room for the draft"):
        check_reply(here.wait(1.0))


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
