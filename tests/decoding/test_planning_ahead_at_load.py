"""Plans for several users: strategies that prepare ahead, and trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from decoding.choice import choose
from decoding.core.load import Load
from decoding.dice.sampling import Sampling
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prepared_in, with_preparing
from decoding.replay.at_load import play
from decoding.replay.planning import RecordedSet, study
from decoding.replay.planning_ahead import Simulating
from decoding.replay.planning_at_load import AheadAtLoad, PlanInputs, predict_at_load
from decoding.replay.player import replay
from decoding.replay.ssd.playing import ANYTIME, IN_TURN
from decoding.replay.ssd.recording import plan_of, track_of
from decoding.replay.ssd.simulator import simulate_together
from tests.golden.documents import COSTS
from tests.kit.loads import CHEAP, PROMPTS, like_one
from tests.kit.pairs import pair
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
GREEDY = Sampling(max_new_tokens=40)
SSD = choose("ssd", {"lookahead": 4, "branches": 12, "backup": "neural", "placement": "in-turn"})


@pytest.fixture(scope="module")
def recorded() -> RecordedSet:
    return study(pair(), PROMPTS, GREEDY, tails=True)


# Trees ----------------------------------------------------------------------------------------------------------------


def test_for_one_user_a_tree_takes_the_passes_of_its_replay(recorded: RecordedSet) -> None:
    tree = choose("tree", {"shape": "3/21/1"})
    requests = [replace(text, prompt_tokens=1) for text in recorded.texts()]
    counts = replay(requests, tree.sources())
    found = play(requests, tree.sources(), replace(CHEAP, in_tree=0.0001, tree=0.002), users=1)
    verifying = sum(rounds * (CHEAP.verify(1, size + 1) + 0.001) for size, rounds in counts.rounds.items())
    passes = verifying + CHEAP.draft(1) * counts.draft_passes + 0.0001 * counts.in_trees + 0.002 * counts.trees
    assert sum(request.end for request in found.requests) == pytest.approx(passes)


# Preparing ahead ------------------------------------------------------------------------------------------------------


def row(branches: int, pass_ms: int, verifying_ms: int, drafted: int) -> dict[str, Any]:
    """A run of 10 rounds, with 20 passes of the draft."""
    hits = {"busy_ns": pass_ms * 20 * 10**6, "passes": 20}
    return {
        "params": {"branches": branches},
        "num_target_passes": 10,
        "num_draft_tokens": drafted,
        "samples": [{"hits": hits, "verify_ns": verifying_ms * 10 * 10**6}],
    }


def test_prices_of_preparing_leave_out_what_slowed_everything_down() -> None:
    alone = row(1, 0, 24, 0)  # CHEAP says 12 ms for 2 users, and nobody drafts
    found = prepared_in([row(6, 4, 60, 40), row(24, 8, 60, 40)], alone, CHEAP, 2)  # CHEAP says 20 ms for 10 rows
    assert found.branches == [(6, pytest.approx(0.002)), (24, pytest.approx(0.004))]
    assert found.slower == pytest.approx(1.5)


def test_a_run_that_left_the_number_open_is_priced_by_the_branches_that_its_passes_had() -> None:
    left_open = row(6, 4, 60, 40)
    left_open["params"]["branches"] = "auto"
    left_open["samples"][0]["hits"] |= {"rows": 25, "preparations": 10}
    found = prepared_in([left_open, row(12, 8, 60, 40)], row(1, 0, 24, 0), CHEAP, 2)
    assert [branches for branches, _ in found.branches] == [2.5, 12]


def rounds_of(
    hits: int, misses: int, answering_ms: int, steps: int = 0, hidden_ms: int = 0, stepping: int = 0
) -> dict[str, Any]:
    """Counts of a sample whose verifications took 1 s."""
    rounds = {"hit": hits, "neural": misses}
    times = {"verifying_ns": 10**9, "preparing_ns": 0, "drafting_ns": 0, "answering_ns": answering_ms * 10**6}
    answers = {"rounds": rounds, "tokens": {}, "in_use_tokens": {}, "in_use_ns": {}, "steps": steps, **times}
    answers["stepping"] = stepping or misses
    return {"passes": 5, "busy_ns": 10**7, "hidden_ns": hidden_ms * 10**6, "answers": answers}


def test_what_a_verification_took_longer_is_shared_out_over_the_time_in_which_the_draft_worked() -> None:
    def beside(slowed: float, hidden_ms: int) -> CostModel:
        found = with_preparing(CHEAP, [(6, [rounds_of(1, 1, 0, hidden_ms=hidden_ms)], slowed)], 2)
        assert found.slower == max(1.0, slowed)
        return found

    assert beside(1.25, 1000).delay == pytest.approx(0.2)  # 0.2 of 1 s
    assert beside(1.25, 500).delay == pytest.approx(0.4)
    assert beside(1.25, 500).beside(0.8, 0.5) == pytest.approx(1.0)  # as it was measured
    assert beside(2.0, 100).delay == 1.0  # 0.1 s of work cannot have cost 0.5
    assert beside(0.9, 500).delay == 0.0


def test_the_time_of_an_answer_is_what_the_steps_of_the_model_leave() -> None:
    """CHEAP says 1 ms for a step, however many texts share it."""

    def answering(found: dict[str, Any], users: int = 1, drift: float = 1.0) -> float:
        return with_preparing(CHEAP, [(6, [found], 1.0)], users, drift).answer

    assert answering(rounds_of(10, 0, 20)) == pytest.approx(0.002)
    assert answering(rounds_of(10, 0, 20), drift=2.0) == pytest.approx(0.001)
    assert answering(rounds_of(5, 5, 40, steps=20)) == pytest.approx(0.002)  # 4 steps in half of the rounds
    assert answering(rounds_of(5, 5, 40, steps=20), users=2) == pytest.approx(0.001)  # in three quarters
    assert answering(rounds_of(5, 5, 10, steps=20)) == 0.0
    assert answering(rounds_of(10, 0, 40, steps=10, stepping=5)) == pytest.approx(0.003)  # hits that were too short


@pytest.mark.parametrize("placement", [IN_TURN, ANYTIME], ids=lambda placement: placement.name)
def test_more_branches_cost_what_was_measured_for_them(recorded: RecordedSet, placement: Any) -> None:
    texts = [*map(track_of, recorded.recordings)]
    plan = plan_of(SSD, pair().vocab, None)

    def speed(passes: list[tuple[float, float]], **beside: float) -> float:
        costs = replace(CHEAP, branches=passes, **beside)
        return simulate_together(texts, plan, costs, 4, placement).tokens_per_s_device

    assert speed([(6, 0.001), (18, 0.003)]) == pytest.approx(speed([(12, 0.002)]))
    assert speed([(12, 0.0005)]) > speed([(12, 0.02)])
    assert (speed([(12, 0.002)]) > speed([(12, 0.002)], slower=1.2)) is placement.beside
    assert (speed([(12, 0.002)]) > speed([(12, 0.002)], answer=0.001)) is placement.beside


def test_a_plan_at_load_tries_every_strategy_that_prepares_ahead_and_every_tree(recorded: RecordedSet) -> None:
    models = pair()
    models.hold("", some_classifier())
    simulating = Simulating(models, PROMPTS, GREEDY, recorded, COSTS, "")
    material = PlanInputs(recorded, like_one(CHEAP), some_classifier(), AheadAtLoad(simulating, CHEAP))
    for users, rows in predict_at_load(material, (1, 4)).items():
        found = [row.choice for row in rows]
        assert {choice.strategy for choice in found} >= {"ssd", "ssd-disco", "tree", "static", "budget"}
        assert {choice.params["backup"] for choice in found if choice.strategy == "ssd"} == {"neural", "ngram", "copy"}
        assert all(choice.load == Load(users) for choice in found)
        assert all(row.tokens_per_s > 0 for row in rows)


def test_under_ratio_dice_a_plan_at_load_leaves_out_what_no_recording_shows(recorded: RecordedSet) -> None:
    simulating = Simulating(pair(), PROMPTS, Sampling(temperature=1.0, dice="ratio"), recorded, COSTS, None)
    assert [*AheadAtLoad(simulating, CHEAP).predict(4)] == []
