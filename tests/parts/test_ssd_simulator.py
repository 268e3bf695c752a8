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
from decoding.replay.ssd.playing import ANYTIME, BESIDE, IN_TURN, Placement, Track
from decoding.replay.ssd.simulator import simulate, simulate_together
from decoding.ssd.policy.ssd_policy import Plan
from decoding.ssd.speculator.speculator import plan_for
from decoding.trace.events import Anticipated, Drafted, Event, Verified
from decoding.trace.theory import Speculation
from tests.kit.recordings import rates_of, tokens_per_round, tracked
from tests.kit.worlds import World

pytestmark = pytest.mark.slow
VOCAB = 14


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


@pytest.mark.parametrize(("placement", "guessed"), [(BESIDE, 0.7), (ANYTIME, 0.7), (ANYTIME, 1.0)])
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
