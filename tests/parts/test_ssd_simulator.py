"""Simulations of SSD: times by the clock, prices that go in and are found again, and published speeds."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from decoding.dice.sampling import Sampling
from decoding.drafting.records import Record, Written
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_beside
from decoding.replay.ssd.playing import ANYTIME, BESIDE, IN_TURN, Placement, Track
from decoding.replay.ssd.simulator import simulate, simulate_together
from decoding.ssd.policy.ssd_policy import Plan
from decoding.ssd.speculator.speculator import plan_for
from decoding.trace.accounting import Round, rounds
from decoding.trace.events import Anticipated, Drafted, Event, Started, Verified
from decoding.trace.theory import Speculation
from tests.kit.recordings import LIVE, rates_of, tokens_per_round, tracked
from tests.kit.worlds import World

pytestmark = pytest.mark.slow
NEW = 40
VOCAB = 14
SAMPLINGS = [Sampling(max_new_tokens=NEW), Sampling(temperature=1.0, max_new_tokens=NEW, repetition_penalty=1.2)]


def counted(events: Sequence[Event]) -> dict[str, float]:
    """Count the events of a run, live or simulated."""
    drafts = [event for event in events if isinstance(event, Drafted)]
    verdicts = [event for event in events if isinstance(event, Verified)]
    prepared = [event for event in events if isinstance(event, Anticipated)]
    return {
        "rounds": len(verdicts),
        "accepted": sum(verdict.accepted for verdict in verdicts),
        "hits": sum(draft.source == "hit" for draft in drafts),
        "misses": sum(draft.source == "miss" for draft in drafts),
        "drafted": sum(len(draft.tokens) for draft in drafts),
        "passes": sum(draft.passes for draft in drafts),
        "predicted hits": sum(event.predicted_hit for event in prepared),
        "steps": sum(event.passes for event in prepared),
    }


def even(lookahead: int, branches: int) -> Plan:
    return plan_for(SpeculatorSettings(lookahead, branches, "uniform", "neural"), VOCAB)


def thrown(acceptance: float, guessed: float, length: int = 4000) -> Track:
    """A text whose matches and guesses were thrown by dice: token 0 is what the draft likes best, 1 what it guesses
    next, 2 what nobody expects."""
    dice = random.Random(5)
    matches = [dice.random() < acceptance for _ in range(length)]
    text = tuple(0 if match else 1 if dice.random() < guessed else 2 for match in matches)
    return Track(Record.of(matches), written=Written((), text, length), preferred=((0, 1),) * length)


def prices(*, draft: float, step: float, opening: float = 0.0, **more: float) -> CostModel:
    """Every verification takes a second, however many rows it has."""
    return replace(CostModel.of_one((0.0, 1.0, 1.0), draft), branches=[(1, step)], opening=opening, **more)


@pytest.mark.parametrize(("placement", "guessed"), [(BESIDE, 0.7), (ANYTIME, 0.7), (ANYTIME, 0.0), (ANYTIME, 1.0)])
def test_time_beside_each_other_is_what_the_theorem_says(placement: Placement, guessed: float) -> None:
    """Preparing fits into a verification, so that placement with and without looking up are the same."""
    track = thrown(0.75, guessed)
    found = simulate([track], even(4, 5), prices(draft=0.15, step=0.2, opening=0.1), placement)
    counts = counted(found.traces[0])
    tokens = len(track.written.text) / counts["rounds"]
    theory = Speculation(counts["hits"] / counts["rounds"], tokens, tokens, preparing=0.9, backup=0.6)
    assert found.tokens_per_s_device == pytest.approx(theory.speedup(), rel=0.005)
    assert tokens == pytest.approx(tokens_per_round(0.75, 4), rel=0.03)
    assert rates_of(found)["hidden_share"] == pytest.approx(0.9 / (0.9 + 0.6 * (1 - theory.hit_rate)), rel=0.005)


def test_every_price_is_paid_where_it_belongs() -> None:
    """As above, by a draft that looks up: a first round that starts 0.5 late; 0.02 of the target's own before each
    question; 0.03 from a draft to the beginning of what is prepared beside it. Opening and steps, 0.1 and three of 0.5,
    are cut short by the verdict after the second step, which has to end first; the winner drafts its third token
    alone."""
    matches = [True] * 12
    track = Track(Record.of(matches, 40), written=Written((), (0,) * 12, 40), preferred=((0, 1),) * 12)
    price = replace(
        CostModel.of_one((0.0, 1.0, 1.0), 0.1, 0.04, 0.0, 0.02),
        branches=[(1, 0.5)],
        opening=0.1,
        taking=0.2,
        answer=0.01,
        turning=0.03,
        start=0.5,
    )
    [trace] = simulate([track], even(3, 4), price, ANYTIME).traces
    first, second, *_ = rounds(trace)
    assert second.free_ns * 1e-9 == pytest.approx(0.5 + 0.3 + 0.04 + 1.0)
    assert phases(first) == pytest.approx([0.5, 0, 0.34, 0, 1])
    assert first.beside and first.beside.passes == 3 and not first.beside.idle_ns
    over = 0.84 + 0.03 + 0.1 + 2 * 0.5 - (second.free_ns * 1e-9 + 0.02)  # what is left of the second step
    assert phases(second)[:3] == pytest.approx([0.02, over, 0.01 + 0.1 + 0.04])  # found short, it goes on alone
    assert second.draft and second.draft.source == "hit"


@pytest.mark.parametrize(
    ("placement", "slow", "name"),
    [(IN_TURN, 0.2, "uniform"), (ANYTIME, 0.2, "measured"), (ANYTIME, 0.05, "ngram"), (ANYTIME, 0.05, "measured")],
)
def test_prices_read_off_a_simulation_are_those_that_went_into_it(placement: Placement, slow: float, name: str) -> None:
    """Reading and playing are each other's inverse: in turn, cut short by verdicts, and with time to read on."""
    reads_on = placement.anytime and slow < 0.1
    sampling, settings = SAMPLINGS[1], LIVE[name]
    tracks = [tracked(World.of_tables(VOCAB, seed, noise=0.9), sampling, seed) for seed in range(6)]
    branches = settings.branches
    rows = (0.0, *(1.0 + 0.05 * n for n in range(10)))
    given = replace(
        CostModel.of_one(rows, 0.1, 0.0, 0.0, 0.02),
        branches=[(n + 1, slow + 0.01 * n) for n in range(branches)],
        opening=0.15,
        opening_read=0.05 if reads_on else 0.15,
        taking=0.01,
        answer=0.01,
        turning=0.03,
        start=0.4,
    )
    static = [alone(rows, drafted) for drafted in range(8)]
    plan = plan_for(settings, VOCAB)
    traces = simulate(tracks, plan, given, placement).traces
    found = prices_beside(costs_from(static), traces)
    assert found.verify(1, 4) == pytest.approx(given.verify(1, 4), rel=0.001)
    assert (found.draft(1), found.fixed(1)) == (pytest.approx(0.1), pytest.approx(0.02, rel=0.001))
    assert (found.opening, found.taking, found.answer) == (*map(pytest.approx, (0.15, 0.01, 0.01)),)
    assert found.opening_read == pytest.approx(given.opening_read)
    assert (found.turning, found.start) == (pytest.approx(0.03), pytest.approx(0.4, rel=0.01))
    assert found.prepare(branches) == pytest.approx(given.prepare(branches), rel=0.001)
    again = simulate(tracks, plan, found, placement)
    assert again.tokens_per_s_device == pytest.approx(
        simulate(tracks, plan, given, placement).tokens_per_s_device, rel=0.005
    )
    assert mean_phases(again.traces) == pytest.approx(mean_phases(traces), rel=0.01, abs=1e-3)


def phases(one: Round) -> list[float]:
    """Seconds between a verdict and the question, of the step under way, of the answer, of waiting, of verifying."""
    return [one.settling_s, one.finishing_s, one.working_s, one.preparing_s, one.verifying_s]


def mean_phases(traces: Sequence[Sequence[Event]]) -> list[float]:
    found = [phases(each) for trace in traces for each in rounds(trace)]
    return [sum(of) / len(found) for of in zip(*found, strict=True)]


def alone(rows: Sequence[float], drafted: int) -> list[Event]:
    """A sample of a static lookahead on the same clock."""
    events: list[Event] = [Started(2, 0)]
    now = 0
    for number in range(1, 9):
        start, end = now + round(drafted * 1e8), now + round(drafted * 1e8 + rows[drafted + 1] * 1e9)
        if drafted:
            draft = Drafted(number, 0, drafted, (1,) * drafted, (), (), "limit", "fresh", drafted, now, start)
            events.append(draft)
        events.append(Verified(number, 0, 1, "correction", start - now, start, end))
        now = end
    return events


COSTS = CostModel(
    {n: [(rows, 10.0 + rows) for rows in (n, 8 * n)] for n in (1, 8)}, {1: [(1, 1.0)]}, branches=[(1, 1.0)]
)


def recorded_texts(count: int) -> list[Track]:
    return [
        untimed(tracked(World.of_tables(14, 7, noise=0.5), Sampling(max_new_tokens=40), number))
        for number in range(count)
    ]


def untimed(track: Track) -> Track:
    """A request whose prompt takes no time."""
    return dataclasses.replace(track, prompt_tokens=1)


def planned(branches: int | None) -> Plan:
    return Plan(SpeculatorSettings(4, branches, backup="neural"))


def test_a_verification_is_slowed_down_only_while_the_draft_really_works_beside_it() -> None:
    tracks, slow = recorded_texts(4), dataclasses.replace(COSTS, slower=1.5, delay=1 / 3)

    def speed(pass_s: float, placement: Placement, costs: CostModel) -> float:
        priced = dataclasses.replace(costs, branches=[(1, pass_s)])
        return simulate_together(tracks, planned(10), priced, 2, placement).tokens_per_s_device

    lost = [speed(pass_s, ANYTIME, COSTS) / speed(pass_s, ANYTIME, slow) for pass_s in (1e-6, 0.1, 1.0, 3.0)]
    assert lost[0] == pytest.approx(1.0, abs=1e-4)  # it is ready at once
    assert lost == sorted(lost) and 1.0 < lost[1] < lost[2] < lost[3] <= 1.5
    assert speed(1.0, IN_TURN, slow) == speed(1.0, IN_TURN, COSTS)


def test_a_simulated_batch_tries_the_backups_that_are_left_open_by_the_clock_of_its_own_texts() -> None:
    world = World.of_tables(14, 7, noise=0.5)
    tracks = [untimed(tracked(world, Sampling(max_new_tokens=120), number)) for number in range(6)]

    def speed(backup: WantedBackup) -> float:
        dear = dataclasses.replace(COSTS, steps={1: [(1, 30.0)]})  # drafts for which the texts wait
        return simulate_together(tracks, Plan(SpeculatorSettings(4, 4, backup=backup)), dear, 4).tokens_per_s_device

    assert speed("neural") < speed("auto") < speed("ngram")
