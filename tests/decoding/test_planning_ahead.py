"""Strategies that prepare ahead in a plan: simulated from the same recording, then run."""

from __future__ import annotations

import dataclasses
import random
from functools import partial

import pytest

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import Prediction, study
from decoding.replay.planning_ahead import CorrectedPrices, ShortRuns, Simulating, left_out, predict_ahead
from decoding.replay.probing import probe, typical
from decoding.replay.workload import PROMPTS as PROMPTS_RUN
from decoding.replay.workload import planned_ahead, samples_ahead
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from decoding.strategies import STRATEGIES
from tests.kit.beside import table_draft
from tests.kit.linux import LINUX
from tests.kit.pairs import LETTERS, pair
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
SHARED = Sampling(temperature=1.0, max_new_tokens=40)
PROMPTS = [PromptItem(str(i), "".join(random.Random(i).choices(LETTERS, k=4))) for i in range(6)]


@pytest.fixture(scope="module")
def planned() -> tuple[ModelPair, list[int], list[Prediction]]:
    ready, done = pair(), list[int]()
    ready.hold("ours", some_classifier())
    recorded = study(ready, PROMPTS, SHARED, tails=True)
    costs = probe(ready, PROMPTS, SHARED, "ours")
    simulating = Simulating(ready, PROMPTS, SHARED, recorded, costs, "ours", done.append)
    return ready, done, predict_ahead(simulating)


def test_every_setting_of_the_grid_and_some_near_the_best_are_simulated(planned) -> None:  # type: ignore[no-untyped-def]
    _, _, predictions = planned
    for slug in ("ssd", "ssd-disco"):
        labels = {p.choice.label for p in predictions if p.choice.strategy == slug}
        grid = {choose(slug, params).asking("ours").label for params in STRATEGIES[slug].grid()}
        assert grid < labels
        assert len(labels) < 40
    assert all(p.tokens_per_s > 0 and p.speedup > 0 for p in predictions)


def test_the_progress_counts_the_samples_that_were_foretold(planned) -> None:  # type: ignore[no-untyped-def]
    _, done, _ = planned
    strategies = planned_ahead(SHARED, has_classifier=True)
    assert done == list(range(1, samples_ahead(len(PROMPTS), strategies, has_both_placements=False) + 1))


def test_every_strategy_that_the_dice_keep_out_of_a_plan_is_named_with_the_reason() -> None:
    ratio, recorded = (
        Sampling(temperature=1.0, dice="ratio"),
        study(pair(), PROMPTS[:1], SHARED, tails=True, trees=True),
    )
    ahead = {each.slug for each in planned_ahead(SHARED, has_classifier=True)}
    missing, fixed = (left_out(sampling, recorded) for sampling in (ratio, SHARED))
    assert missing.keys() - fixed.keys() == ahead and not planned_ahead(ratio, has_classifier=True)
    assert all("greedy or shared dice" in missing[slug] for slug in ahead)
    assert not left_out(ratio, dataclasses.replace(recorded, is_undrafted=True))


def test_a_plan_names_the_trees_that_its_draft_cannot_read_at_once() -> None:
    """A draft that transformers runs reads 30 single tokens for each token of the text. One with another tokenizer
    reads a token of a tree otherwise than in a text."""
    ready = pair()
    ready.require_draft("a plan").reads_trees_at_once = False
    plain = study(ready, PROMPTS[:1], SHARED, tails=True, trees=True)
    assert [*left_out(SHARED, plain)] == ["tree:4x2"] and not plain.tells(choose("tree", {"shape": "4x2"}))


@LINUX
def test_where_the_draft_has_a_core_of_its_own_the_best_setting_is_tried_in_turn_too() -> None:
    ready, done = pair(), list[int]()
    with DraftProcess(partial(table_draft, len(LETTERS), 7), Cores(2)) as process:
        ready.draft_process = process
        recorded = study(ready, PROMPTS, SHARED, tails=True)
        costs = probe(ready, PROMPTS, SHARED)
        predictions = predict_ahead(Simulating(ready, PROMPTS, SHARED, recorded, costs, None, done.append))
    *beside, in_turn = predictions
    assert {prediction.choice.params["placement"] for prediction in beside} == {"beside"}
    best = max(beside, key=lambda prediction: prediction.tokens_per_s).choice
    assert in_turn.choice.params == {**best.params, "placement": "in-turn"}
    assert "placement=beside" in best.label and "placement=in-turn" in in_turn.choice.label
    strategies = planned_ahead(SHARED, has_classifier=False)
    assert len(done) == done[-1] == samples_ahead(len(PROMPTS), strategies, has_both_placements=True)


@pytest.mark.parametrize(("placement", "is_at_once"), [("two-streams", True), ("two-gpus", True), ("in-turn", False)])
def test_on_streams_and_gpus_of_their_own_the_models_are_simulated_at_once(placement: str, is_at_once: bool) -> None:
    ready = pair()
    recorded = study(ready, PROMPTS, SHARED, tails=True)
    simulating = Simulating(ready, PROMPTS, SHARED, recorded, probe(ready, PROMPTS, SHARED), None)
    assert simulating.placement(choose("ssd", {"placement": placement})).beside is is_at_once


def test_a_promise_is_corrected_on_the_prompts_that_were_run() -> None:
    ready = pair()
    recorded, choice = study(ready, PROMPTS, SHARED, tails=True), choose("ssd", {"lookahead": 3, "branches": 9})
    costs, names = probe(ready, PROMPTS, SHARED), {prompt.id for prompt in typical(PROMPTS)}
    simulating = Simulating(ready, PROMPTS, SHARED, recorded, costs, None)
    prices = simulating.run([choice], runs := ShortRuns()).prices
    assert len(runs.ahead) == len(names) == PROMPTS_RUN < len(PROMPTS)
    those = dataclasses.replace(recorded, recordings=[each for each in recorded.recordings if each.prompt in names])
    alone = Simulating(ready, typical(PROMPTS), SHARED, those, costs, None)
    seconds = costs.seconds(those.play(choose("autoregressive")))
    gain = simulating.gain_in_runs(choice, prices)
    assert gain == pytest.approx(alone.gain_in_runs(choice, prices))
    played = alone.simulated(choice, prices)
    assert gain == pytest.approx(
        seconds * played.tokens_per_s_device / sum(len(each.matches) for each in those.recordings)
    )
    corrected = CorrectedPrices(prices, 1.0).corrected([1.3, 0.7, 1.4], gain)
    promised, before = (simulating.predict(choice, measured) for measured in (corrected, CorrectedPrices(prices, 1.0)))
    assert promised.speedup == pytest.approx(1.3 / gain * before.speedup), "one slow run used to lower all promises"


def test_a_cancelled_search_ends_without_a_prediction() -> None:
    ready = pair()
    recorded = study(ready, PROMPTS[:1], SHARED, tails=True)
    costs = probe(ready, PROMPTS[:1], SHARED)
    stopped = Simulating(ready, PROMPTS[:1], SHARED, recorded, costs, None, cancelled=lambda: True)
    assert predict_ahead(stopped) == []


def test_settings_whose_branches_do_not_fit_into_memory_are_left_out() -> None:
    ready = pair()
    recorded = study(ready, PROMPTS[:1], SHARED, tails=True)
    simulating = Simulating(ready, PROMPTS[:1], SHARED, recorded, probe(ready, PROMPTS[:1], SHARED), None)
    assert simulating.fits(choose("ssd"))
    ready.target.vocab_size = ready.draft.vocab_size = 10**12
    assert not simulating.fits(choose("ssd"))
    assert predict_ahead(simulating) == []
