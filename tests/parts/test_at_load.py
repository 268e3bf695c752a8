"""Policies that price the batch, and replay at load: the same policies, played for any number of users."""

from __future__ import annotations

import dataclasses

import pytest

from decoding.choice import parse_choices
from decoding.core.batch_state import TRIAL, BatchState
from decoding.dice.sampling import Sampling
from decoding.drafting.source import View
from decoding.measure.crossover import paying
from decoding.replay.at_load import play
from decoding.replay.planning import RecordedSet, study
from decoding.replay.planning_at_load import PlanInputs, crossovers, predict_at_load, schedule, worth_running
from decoding.replay.player import replay
from decoding.strategies.budget import Budget
from tests.kit.loads import CHEAP, DEAR, PROMPTS, like_one
from tests.kit.pairs import pair
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("label", ["tree:3/21/1", "threshold:0.4"])
def test_one_user_takes_the_seconds_of_the_passes_that_a_replay_counts(recorded: RecordedSet, label: str) -> None:
    [choice] = parse_choices(label)
    costs = dataclasses.replace(CHEAP, in_tree=0.0001, tree=0.002, reading=0.0003)
    texts = [dataclasses.replace(text, prompt_tokens=1) for text in recorded.texts()]
    counted = costs.seconds(replay(texts, choice.sources()), choice.sees)
    played = play(texts, choice.sources(), costs, users=1)
    assert sum(request.end for request in played.requests) == pytest.approx(counted)


def test_where_a_row_costs_more_than_it_brings_a_budget_drafts_nothing_and_one_text_tries_again_now_and_then() -> None:
    policies = [Budget(6) for _ in range(16)]
    batch, lengths = BatchState(DEAR), []
    batch.begin(16)
    for _ in range(3 * TRIAL + 2):
        for policy in policies:
            policy.batch = batch
            policy.begin(View())
        drafted = [policy.lookahead for policy in policies]
        batch.note_round(drafted)
        lengths.append(drafted)
    assert [sum(drafted) for drafted in lengths] == [0] * TRIAL + [1] + [0] * 2 * TRIAL + [1], "ever more rarely"
    assert {drafted.index(1) for drafted in lengths if any(drafted)} == {0}, "always the same text"


@pytest.fixture(scope="module")
def recorded() -> RecordedSet:
    return study(pair(), PROMPTS, Sampling(max_new_tokens=12), tails=True)


def test_the_planned_schedule_drafts_less_for_more_users(recorded: RecordedSet) -> None:
    found = predict_at_load(PlanInputs(recorded, like_one(DEAR)), (1, 16))
    planned = schedule(found, {})
    lookaheads = [int(step.partition(":")[2]) for step in str(planned.params["table"]).split("/")]
    assert lookaheads == sorted(lookaheads, reverse=True)
    best = {users: next(row for row in rows if row.choice.strategy == "static") for users, rows in found.items()}
    lost = {row.choice.label: {"end_to_end": {"ratio": 0.9}} for row in best.values()}
    assert schedule(found, lost).params["table"] == "16:0", "what was measured wins over what was predicted"


def test_a_plan_runs_the_strategies_that_come_closest_to_the_best_at_any_load(recorded: RecordedSet) -> None:
    found = predict_at_load(PlanInputs(recorded, like_one(CHEAP), some_classifier()), (1, 16))
    run = worth_running(found, 3)
    assert len(run) == 3 and "autoregressive" not in run
    for rows in found.values():
        assert next(row for row in rows if row.choice.strategy != "autoregressive").choice.kind in run


def gains(*found: tuple[int, float, float | None, float | None]) -> list[dict[str, object]]:
    return [
        {"users": users, "strategy": "static", "speedup": ratio, "measured": {"ratio": ratio, "low": low, "high": high}}
        for users, ratio, low, high in found
    ]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            gains((1, 1.5, 1.4, 1.6), (4, 1.2, 1.1, 1.3), (16, 0.8, 0.7, 0.9)),
            "static pays for up to about 10.0 users at once (95 % interval: 7.0 to 13.0).",
        ),
        (
            gains((1, 1.5, None, None), (3, 0.5, None, None)),
            "static: the prompts are too few to say for how many users at once it pays. Its speed-up falls below 1 at "
            "about 2.0.",
        ),
    ],
)
def test_a_crossover_is_told_with_the_interval_in_which_the_bounds_cross_1(rows, told: str) -> None:
    [crossover] = crossovers(rows)
    assert paying(crossover) == told
