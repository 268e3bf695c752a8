"""Policies that price the batch, and replay at load: the same policies, played for any number of users."""

from __future__ import annotations

import dataclasses

import pytest

from decoding.choice import choose, parse_choices
from decoding.core.batch_state import TRIAL, BatchState
from decoding.core.load import Load
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.driver import DraftDriver
from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Chain, View
from decoding.errors import BadStrategy
from decoding.measure.crossover import paying
from decoding.prices.cost_model import CostModel
from decoding.replay.at_load import play
from decoding.replay.planning import Prediction, RecordedSet, study
from decoding.replay.planning_at_load import (
    PlanInputs,
    crossovers,
    document,
    predict_at_load,
    schedule,
    worth_running,
)
from decoding.replay.player import replay
from decoding.strategies.budget import Budget
from decoding.strategies.static import SameLength
from tests.kit.loads import CHEAP, DEAR, PROMPTS, SIZES, like_one
from tests.kit.pairs import pair
from tests.kit.table import TableRunner
from tests.kit.worlds import some_classifier, tables

pytestmark = pytest.mark.slow
MIDDLING = dataclasses.replace(DEAR, target={n: [(rows, 0.02 + 0.004 * rows) for rows in (n, 4 * n)] for n in SIZES})


TEXT = RecordedText(Record.of([True, True, False, True, True, True, False, True] * 4, 40), prompt_tokens=5)


# Replay ---------------------------------------------------------------------------------------------------------------


def test_a_text_pays_for_its_random_numbers() -> None:
    noisy = dataclasses.replace(CHEAP, noise=(8, 0.1))
    policy = choose("static", {"lookahead": 3}).source
    [before], [after] = (play([TEXT], policy, costs, 1).requests for costs in (CHEAP, noisy))
    blocks = -(-(TEXT.prompt_tokens + TEXT.tokens) // 8) - TEXT.prompt_tokens // 8
    assert after.end - before.end == pytest.approx(0.1 * blocks)


@pytest.mark.parametrize("label", ["static:3", "tree:3/21/1", "lookup:4", "threshold:0.4"])
def test_one_user_takes_the_seconds_of_the_passes_that_a_replay_counts(recorded: RecordedSet, label: str) -> None:
    [choice] = parse_choices(label)
    costs = dataclasses.replace(CHEAP, in_tree=0.0001, tree=0.002, reading=0.0003)
    texts = [dataclasses.replace(text, prompt_tokens=1) for text in recorded.texts(recorded.shown(choice.sees))]
    counted = costs.seconds(replay(texts, choice.sources()), choice.sees)
    played = play(texts, choice.sources(), costs, users=1)
    assert sum(request.end for request in played.requests) == pytest.approx(counted)


def test_while_the_draft_reads_a_prompt_all_texts_wait() -> None:
    costs = dataclasses.replace(CHEAP, prompts=[(0, 0.0), (10, 0.010)])
    requests = [TEXT] * 8
    with_draft, without = (play(requests, lambda: SameLength(2), costs, 4, drafts=drafts) for drafts in (True, False))
    waits = [a.end - b.end for a, b in zip(with_draft.requests, without.requests, strict=True)]
    assert min(waits) >= costs.read(TEXT.prompt_tokens) > 0
    assert max(waits) > 2 * costs.read(TEXT.prompt_tokens), "other texts' prompts too"


def test_every_request_counts_once_and_tokens_per_second_follow_littles_law() -> None:
    run = play([TEXT] * 7, lambda: SameLength(3), CHEAP, users=4)
    assert len(run.requests) == 7
    mean = sum(request.end for request in run.requests) / 7
    assert run.tokens_per_s_device == pytest.approx(4 * TEXT.tokens / mean)


# Policies -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["4:", "0:3", "8:1/4:2", "4:65"])
def test_a_table_that_is_no_schedule_is_refused(table: str) -> None:
    with pytest.raises(BadStrategy, match="table is"):
        choose("schedule", {"table": table})


def settled(policy: Chain, costs: CostModel, running: int) -> BatchState:
    policy.batch = batch = BatchState(costs)
    batch.begin(running)
    return batch


def test_where_a_row_costs_more_than_it_brings_a_budget_drafts_nothing_and_one_text_tries_again_now_and_then() -> None:
    policies = [Budget("stop", 6) for _ in range(16)]
    batch = settled(policies[0], DEAR, 16)
    lengths = []
    for _ in range(3 * TRIAL + 2):
        for policy in policies:
            policy.batch = batch
            policy.begin(View())
        drafted = [policy.lookahead for policy in policies]
        batch.note_round(drafted)
        lengths.append(drafted)
    assert [sum(drafted) for drafted in lengths] == [0] * TRIAL + [1] + [0] * 2 * TRIAL + [1], "ever more rarely"
    assert {drafted.index(1) for drafted in lengths if any(drafted)} == {0}, "always the same text"


@pytest.mark.parametrize(("begin", "rests"), [(0.011, False), (0.05, True)])
def test_a_budget_drafts_where_several_tokens_pay_together_though_the_first_alone_does_not(
    begin: float, rests: bool
) -> None:
    costs, policy = dataclasses.replace(CHEAP, begin=[(1, begin)]), Budget("stop", 6)
    policy.batch = BatchState(costs)
    policy.batch.begin(1)
    alone = costs.fixed(1) + costs.verify(1, 1)
    assert (1 + policy.batch.first) / (costs.fixed(1) + costs.drafted(1, 1) + costs.verify(1, 2)) < 1 / alone
    assert policy.rests == rests


def test_looks_at_drafted_tokens_are_priced_text_by_text() -> None:
    priced = CHEAP.with_looks(0.001)
    assert [priced.draft(n) - CHEAP.draft(n) for n in SIZES] == pytest.approx([0.001 * n for n in SIZES])
    few, many = Budget("stop", 6), Budget("stop", 6)
    lengths = []
    for policy, costs in ((few, CHEAP), (many, CHEAP.with_looks(0.01))):
        settled(policy, costs, 4)
        policy.begin(View())
        lengths.append(next((depth for depth in range(1, 7) if policy.stops(0.9)), 7))
    assert lengths[0] > lengths[1], "dear looks end drafts sooner"


def test_while_a_budget_drafts_nothing_the_draft_model_reads_no_prompt() -> None:
    policy = Budget("stop", 6)
    batch = settled(policy, DEAR, 16)
    _, draft = tables(3, seed=5, sharpness=0.7, noise=1.2)
    runner = TableRunner(draft)
    drafter = DraftDriver(policy, View(), dice_for(Sampling(), 3, 0), runner)
    drafter.join(batch)
    drafter.prepare([1, 2, 1, 0])
    assert not runner.tokens
    drafter.join(settled(policy, CHEAP, 16))
    drafter.prepare([1, 2, 1, 0])
    assert runner.tokens == [1, 2, 1]


def test_a_row_is_left_out_by_what_came_before_its_token_and_never_by_the_token_itself() -> None:
    """Else the output would be biased under ratio dice."""
    for last in (0.0, 1.0):
        policy = Budget("trim", 6)
        settled(policy, MIDDLING, 4)
        policy.begin(View())
        for estimate in (0.9, 0.5, last):
            assert not policy.stops(estimate)
        assert policy.keeps(3) == 2


# Planning -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded() -> RecordedSet:
    return study(pair(), PROMPTS, Sampling(max_new_tokens=12), tails=True)


def test_a_plan_says_how_other_engines_copy_where_that_is_a_gain_at_any_load(recorded: RecordedSet) -> None:
    copies = choose("lookup", {"lookahead": 4, "ngram": 2})

    def exported(*speedups: float) -> list[dict[str, str]]:
        best = {
            users: [Prediction(copies.at(Load(users)), 1.0, speedup)]
            for users, speedup in zip((1, 4), speedups, strict=True)
        }
        return document(best, {}, choose("schedule", {"table": "4:0"}))["elsewhere"]

    assert exported(0.9, 0.8) == []
    found = {one["engine"]: one for one in exported(1.2, 1.4)}
    assert "prompt_lookup_num_tokens=4" in found["transformers"]["setting"]
    assert '"method": "ngram"' in found["vLLM"]["setting"] and "lookup:4 @4" not in found["vLLM"]["note"]
    assert "the best for 4 at once, without a draft model" in found["vLLM"]["note"]


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
