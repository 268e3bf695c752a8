"""Strategies that prepare ahead in a plan, for one user and for several: simulated from a recording, then run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prepared_in, with_preparing
from decoding.replay.planning import study
from decoding.replay.planning_ahead import CorrectedPrices, ShortRuns, Simulating, predict_ahead
from decoding.replay.probing import probe, typical
from decoding.replay.workload import PROMPTS as PROMPTS_RUN
from decoding.replay.workload import planned_ahead, samples_ahead
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from decoding.strategies import STRATEGIES
from tests.kit.beside import table_draft
from tests.kit.loads import CHEAP
from tests.kit.pairs import LETTERS, pair, prompts
from tests.kit.processes import LINUX
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
SHARED = Sampling(temperature=1.0, max_new_tokens=16)
PROMPTS = prompts(6)


@pytest.fixture(scope="module")
def simulating() -> Simulating:
    ready = pair()
    ready.hold("ours", some_classifier())
    recorded, costs = study(ready, PROMPTS, SHARED, tails=True), probe(ready, PROMPTS, SHARED, "ours")
    return Simulating(ready, PROMPTS, SHARED, recorded, costs, "ours")


def test_every_setting_of_the_grid_and_some_near_the_best_are_simulated_in_as_many_samples_as_were_foretold(
    simulating: Simulating,
) -> None:
    done = list[int]()
    predictions = predict_ahead(replace(simulating, on_progress=done.append))
    for slug in ("ssd", "ssd-disco"):
        labels = {p.choice.label for p in predictions if p.choice.strategy == slug}
        grid = {choose(slug, params).asking("ours").label for params in STRATEGIES[slug].grid()}
        assert grid < labels and len(labels) < 40
    assert all(p.tokens_per_s > 0 and p.speedup > 0 for p in predictions)
    strategies = planned_ahead(SHARED, has_classifier=True)
    assert done == list(range(1, samples_ahead(len(PROMPTS), strategies, has_both_placements=False) + 1))


@LINUX
def test_where_the_draft_has_a_core_of_its_own_the_best_setting_is_tried_in_turn_too(simulating: Simulating) -> None:
    done = list[int]()
    with DraftProcess(partial(table_draft, len(LETTERS), 7), Cores(2)) as process:
        ready = replace(pair(), draft_process=process)
        predictions = predict_ahead(replace(simulating, pair=ready, classifier_name=None, on_progress=done.append))
    *beside, in_turn = predictions
    assert {prediction.choice.params["placement"] for prediction in beside} == {"beside"}
    best = max(beside, key=lambda prediction: prediction.tokens_per_s).choice
    assert in_turn.choice.params == {**best.params, "placement": "in-turn"}
    assert "placement=beside" in best.label and "placement=in-turn" in in_turn.choice.label
    strategies = planned_ahead(SHARED, has_classifier=False)
    assert len(done) == done[-1] == samples_ahead(len(PROMPTS), strategies, has_both_placements=True)


def test_a_promise_is_corrected_on_the_prompts_that_were_run(simulating: Simulating) -> None:
    recorded, choice, costs = simulating.study, choose("ssd", {"lookahead": 3, "branches": 9}), simulating.costs
    names = {prompt.id for prompt in typical(PROMPTS)}
    prices = simulating.run([choice], runs := ShortRuns()).prices
    assert len(runs.ahead) == len(names) == PROMPTS_RUN < len(PROMPTS)
    those = replace(recorded, recordings=[each for each in recorded.recordings if each.prompt in names])
    alone = replace(simulating, prompts=typical(PROMPTS), study=those)
    seconds = costs.seconds(those.play(choose("autoregressive")))
    gain = simulating.gain_in_runs(choice, prices)
    assert gain == pytest.approx(alone.gain_in_runs(choice, prices))
    tokens = sum(len(each.matches) for each in those.recordings)
    assert gain == pytest.approx(seconds * alone.simulated(choice, prices, alone.texts).tokens_per_s_device / tokens)
    corrected = CorrectedPrices(prices, 1.0).corrected([1.3, 0.7, 1.4], gain)
    promised, before = (simulating.predict(choice, measured) for measured in (corrected, CorrectedPrices(prices, 1.0)))
    assert promised.speedup == pytest.approx(1.3 / gain * before.speedup), "one slow run used to lower all promises"


def test_a_search_that_is_cancelled_or_whose_branches_do_not_fit_into_memory_predicts_nothing(
    simulating: Simulating,
) -> None:
    assert predict_ahead(replace(simulating, cancelled=lambda: True)) == []
    crowded = pair()
    crowded.target.vocab_size = crowded.draft.vocab_size = 10**12
    full = replace(simulating, pair=crowded, classifier_name=None)
    assert simulating.fits(choose("ssd")) and not full.fits(choose("ssd"))
    assert predict_ahead(full) == []


# Preparing ahead ------------------------------------------------------------------------------------------------------


def samples(pass_ms: int, verifying_ms: int, drafted: int) -> list[dict[str, Any]]:
    """A run of 10 rounds, with 20 passes of the draft, if it drafts."""
    hits = {"busy_ns": pass_ms * 20 * 10**6, "passes": 20} if drafted else None
    times = {"verify_ns": verifying_ms * 10 * 10**6, "num_target_passes": 10, "num_draft_tokens": drafted}
    return [{"hits": hits, **times}]


def test_prices_of_preparing_leave_out_what_slowed_everything_down() -> None:
    alone = samples(0, 24, 0)  # CHEAP says 12 ms for 2 users, and nobody drafts
    runs = [(6, samples(4, 60, 40)), (24, samples(8, 60, 40))]  # CHEAP says 20 ms for 10 rows
    found = prepared_in(runs, alone, CHEAP, 2)
    assert found and found.branches == [(6, pytest.approx(0.002)), (24, pytest.approx(0.004))]
    assert found.slower == pytest.approx(1.5)
    assert prepared_in([(6, alone)], alone, CHEAP, 2) is None


def rounds_of(
    hits: int, misses: int, answering_ms: int, steps: int = 0, hidden_ms: int = 0, stepping: int = 0
) -> dict[str, Any]:
    """Counts of a sample whose verifications took 1 s."""
    rounds = {"hit": hits, "neural": misses}
    times = {"verifying_ns": 10**9, "preparing_ns": 0, "drafting_ns": 0, "answering_ns": answering_ms * 10**6}
    answers = {"rounds": rounds, "tokens": {}, "steps": steps, **times}
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
