"""An engine that says nothing is judged by the processor time it got. A loop that goes on is a sign of life."""

from __future__ import annotations

import os

import pytest

from tests.machines.worker.orders import AtRounds, Silent
from webapp.jobs.models import Job
from worker.attempt import replies_to
from worker.engine_process import EngineDied, EngineProcess
from worker.messages import AtWork, Ended
from worker.pulse import Hold
from worker.spent import ProcessTime


@pytest.fixture
def own():
    engine = EngineProcess()
    yield engine
    engine.end()


def end_of(engine: EngineProcess) -> EngineDied:
    """Have an engine do nothing, and lose patience with it."""
    engine.patience = 1.0
    with pytest.raises(EngineDied, match="said nothing for") as death:
        list(replies_to(Hold(Job()), engine, Silent()))
    return death.value


@pytest.mark.parametrize(
    ("waited_s", "worked_s", "is_given_up", "counts"),
    [
        (299, 0, False, None),
        (301, 0, True, True),
        (301, 301, True, True),
        (301, 27, False, None),  # a busy machine gives it 9 % of a core
        (1501, 135, True, False),
    ],
    ids=["early", "hangs", "works in vain", "starves", "starves for long"],
)
def test_silence_is_judged_by_the_processor_time_that_the_engine_got(own, waited_s, worked_s, is_given_up, counts):
    clock, spent = iter([0, *[waited_s] * 99]), iter([0, *[worked_s] * 99])
    silence = ProcessTime(os.getpid(), 300.0, lambda: next(clock), lambda pid: next(spent))
    assert (silence.has_had_its_time or silence.is_stuck) == is_given_up
    if is_given_up:
        death = own.give_up(silence)
        assert death.counts == counts
        assert ("so busy that it got only 135 s" in str(death)) == (not counts)


def test_a_loop_that_goes_on_is_a_sign_of_life_that_no_job_is_told_and_an_engine_that_does_nothing_is_ended(own):
    own.submit(AtRounds(3))
    said = []
    while not said or not isinstance(said[-1], Ended):
        said += [reply for reply in [own.receive(1.0)] if reply]
    assert [type(reply) for reply in said] == [AtWork, Ended]
    assert list(replies_to(Hold(Job()), own, AtRounds(3))) == []
    death = end_of(own)
    assert death.counts and "A line of this order." not in str(death), "what it said last is of the order in hand"
