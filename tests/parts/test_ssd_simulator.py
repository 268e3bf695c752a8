"""Simulations of SSD: times by the clock, prices that go in and are found again, and published speeds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from decoding.dice.sampling import Sampling
from decoding.drafting.records import Record, RecordedText, Written
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prices_beside
from decoding.replay.ssd.simulator import simulate, simulate_together
from decoding.ssd.policy.ssd_policy import Plan
from decoding.ssd.speculator.speculator import plan_for
from decoding.trace.events import Anticipated, Drafted, Origin, Started, Verified
from decoding.trace.theory import Speculation
from tests.kit.recordings import tokens_per_round, tracked
from tests.kit.worlds import World

pytestmark = pytest.mark.slow
VOCAB = 14


def even(lookahead: int, branches: int) -> Plan:
    return plan_for(SpeculatorSettings(lookahead, branches, "uniform", "neural"), VOCAB)


def thrown(acceptance: float, guessed: float, length: int = 4000) -> RecordedText:
    """A text whose matches and guesses were thrown by dice: token 0 is what the draft likes best, 1 what it guesses
    next, 2 what nobody expects."""
    dice = random.Random(5)
    matches = [dice.random() < acceptance for _ in range(length)]
    text = tuple(0 if match else 1 if dice.random() < guessed else 2 for match in matches)
    return RecordedText(Record.of(matches), written=Written((), text, length), preferred=((0, 1),) * length)


def prices(*, draft: float, step: float, opening: float = 0.0, **more: float) -> CostModel:
    """Every verification takes a second, however many rows it has."""
    return replace(CostModel.of_one((0.0, 1.0, 1.0), draft), branches=[(1, step)], opening=opening, **more)


@pytest.mark.parametrize("guessed", [0.7, 1.0])
def test_time_beside_each_other_is_what_the_theorem_says(guessed: float) -> None:
    """Preparing fits into a verification."""
    track = thrown(0.75, guessed)
    found = simulate([track], even(4, 5), prices(draft=0.15, step=0.2, opening=0.1), beside=True)
    [request] = found.requests
    tokens, hits = request.tokens / len(request.rounds), sum(one.origin == "hit" for one in request.rounds)
    theory = Speculation(hits / len(request.rounds), tokens, tokens, preparing=0.9, backup=0.6)
    assert found.tokens_per_s_device == pytest.approx(theory.speedup(), rel=0.005)
    assert tokens == pytest.approx(tokens_per_round(0.75, 4), rel=0.03)


def test_every_price_is_paid_where_it_belongs() -> None:
    """As above, by a draft that looks up: a first round that starts 0.5 late; 0.02 of the target's own before each
    question; 0.03 from a draft to the beginning of what is prepared beside it. Opening and steps, 0.1 and three of 0.5,
    are cut short by the verdict after the second step, which has to end first; the winner drafts its third token
    alone."""
    track = RecordedText(Record.of([True] * 8, 40), written=Written((), (0,) * 8, 40), preferred=((0, 1),) * 8)
    price = replace(
        CostModel.of_one((0.0, 1.0, 1.0), 0.1, 0.04, 0.0, 0.02),
        branches=[(1, 0.5)],
        opening=0.1,
        taking=0.2,
        answer=0.01,
        turning=0.03,
        start=0.5,
    )
    [request] = simulate([track], even(3, 4), price, beside=True).requests
    assert request.first == pytest.approx(0.5 + 0.3 + 0.04 + 1.0)
    over = 0.84 + 0.03 + 0.1 + 2 * 0.5 - (request.first + 0.02)  # what is left of the second step
    assert request.end - request.first == pytest.approx(0.02 + over + 0.01 + 0.1 + 0.04 + 1.0)
    assert [one.origin for one in request.rounds] == ["fresh", "hit"]


def test_prices_of_preparing_are_read_off_the_rounds_after_the_first() -> None:
    """A verification takes 1 s alone and 1.2 s beside the draft. A text starts 0.4 s late."""

    def ns(seconds: float) -> int:
        return round(seconds * 1e9)

    def drafted(number: int, source: Origin, asked: float, answered: float, passes: int = 0) -> Drafted:
        return Drafted(number, 0, 2, (1, 1), (), (), "limit", source, passes, ns(asked), ns(answered))

    def prepared(number: int, began: float, opening: float) -> Anticipated:
        busy = opening + 3 * 0.2
        times = ns(began), ns(began + busy), (1, 1, 1), 4, ns(busy), 0, ns(opening)
        return Anticipated(number, ((2, 1, 3),), 0.5, *times)

    def verified(number: int, began: float) -> Verified:
        return Verified(number, 2, 1, "bonus", 0, ns(began), ns(began + 1.2))

    trace = [
        Started(2, 0), drafted(1, "fresh", 0.42, 0.62, 2), verified(1, 0.62), prepared(1, 0.65, 0.15),
        drafted(2, "hit", 1.84, 1.85), verified(2, 1.85), prepared(2, 1.88, 0.05),
        drafted(3, "miss", 3.07, 3.09), verified(3, 3.09), prepared(3, 3.12, 0.15),
        drafted(4, "miss", 4.31, 4.51, 2), verified(4, 4.51),
    ]  # fmt: skip
    found = prices_beside(CostModel.of_one((0.0, 1.0, 1.0), 0.1), [trace])
    assert (found.verify(1, 3), found.drafted(1, 2), found.fixed(1)) == pytest.approx((1.2, 0.2, 0.02))
    assert (found.opening, found.opening_read, found.prepare(3)) == pytest.approx((0.15, 0.05, 0.2))
    assert (found.taking, found.answer, found.turning, found.start) == pytest.approx((0.01, 0.02, 0.03, 0.42))


COSTS = CostModel(
    {n: [(rows, 10.0 + rows) for rows in (n, 8 * n)] for n in (1, 8)}, {1: [(1, 1.0)]}, branches=[(1, 1.0)]
)


def untimed(count: int, length: int) -> list[RecordedText]:
    """Texts whose prompts take no time."""
    world, sampling = World.of_tables(14, 7, noise=0.5), Sampling(max_new_tokens=length)
    return [replace(tracked(world, sampling, number), prompt_tokens=1) for number in range(count)]


def test_a_verification_is_slowed_down_only_while_the_draft_really_works_beside_it() -> None:
    tracks, slow = untimed(4, 40), replace(COSTS, slower=1.5, delay=1 / 3)
    plan = Plan(SpeculatorSettings(4, 10, backup="neural"))

    def speed(pass_s: float, beside: bool, costs: CostModel) -> float:
        priced = replace(costs, branches=[(1, pass_s)])
        return simulate_together(tracks, plan, priced, 2, beside).tokens_per_s_device

    lost = [speed(pass_s, True, COSTS) / speed(pass_s, True, slow) for pass_s in (1e-6, 0.1, 1.0, 3.0)]
    assert lost[0] == pytest.approx(1.0, abs=1e-4)  # it is ready at once
    assert lost == sorted(lost) and 1.0 < lost[1] < lost[2] < lost[3] <= 1.5
    assert speed(1.0, False, slow) == speed(1.0, False, COSTS)


def test_a_simulated_batch_tries_the_backups_that_are_left_open_by_the_clock_of_its_own_texts() -> None:
    tracks = untimed(6, 120)

    def speed(backup: WantedBackup) -> float:
        dear = replace(COSTS, steps={1: [(1, 30.0)]})  # drafts for which the texts wait
        return simulate_together(tracks, Plan(SpeculatorSettings(4, 4, backup=backup)), dear, 4).tokens_per_s_device

    assert speed("neural") < speed("auto") < speed("ngram")
