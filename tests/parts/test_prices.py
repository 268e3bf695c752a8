"""A run weighs its own passes, and stops drafts by their prices where the classifier's card is far off."""

from __future__ import annotations

import dataclasses
import json

import pytest

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.disco.classifier import DraftClassifier
from decoding.disco.prices import COPIED, PRICED, Prices, RulePrice, prices_at
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import SampleKey
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay import weighing
from decoding.replay.planning import RecordedSet, price_of_a_token, study, sweep
from tests.kit.loads import fragile
from tests.kit.pairs import SHARED, pair, prompts
from tests.kit.worlds import some_classifier

COSTS = CostModel.of_one(
    (0.0, *(1.0 + 0.04 * rows for rows in range(30))), draft=0.1, draft_round=0.05, catch_up=0.0, round=0.01
)


@pytest.fixture(scope="module")
def recorded() -> tuple[ModelPair, RecordedSet]:
    ready = pair()
    return ready, study(ready, prompts(12, seed=4), SHARED, tails=True)


def carded(recorded: RecordedSet, costs: CostModel) -> DraftClassifier:
    """A classifier whose card has the price at these costs."""
    made = some_classifier()
    thresholds = {PRICED: price_of_a_token(recorded, costs, made), COPIED: 0.2, "threshold": 0.5}
    card = {"thresholds": thresholds, "costs": costs.for_one(), "sweep": sweep(recorded, costs, made)}
    return dataclasses.replace(made, card=json.loads(json.dumps(card)))


def scaled(costs: CostModel, draft: float) -> CostModel:
    return dataclasses.replace(costs, steps={1: [(1, draft * costs.draft(1))]})


@pytest.mark.parametrize("factor", [4.0, 0.25])
def test_a_price_that_is_far_off_is_noticed_and_the_runs_own_is_what_replay_would_find(recorded, factor) -> None:
    _, texts = recorded
    spoiled = carded(texts, scaled(COSTS, factor))
    found = prices_at(spoiled.card, COSTS)
    assert found is not None
    price = found.rules[PRICED]
    assert price.is_own and price.used == price.run
    assert price.run == pytest.approx(price_of_a_token(texts, COSTS, spoiled), rel=0.1)
    assert spoiled.at(COSTS).tuned(PRICED) == price.run


def test_the_more_its_turns_differ_the_more_a_run_doubts_its_own_price(recorded) -> None:
    _, texts = recorded
    card = carded(texts, scaled(COSTS, 4.0)).card
    steady, unsteady = (
        prices_at(card, COSTS, [scaled(COSTS, factor) for factor in factors])
        for factors in ((1.0, 1.01, 0.99), (0.05, 8.0, 1.0))
    )
    assert steady is not None and unsteady is not None
    assert steady.rules[PRICED].doubt == 0.15 and steady.rules[PRICED].is_own
    assert unsteady.rules[PRICED].doubt > 1 and not unsteady.rules[PRICED].is_own
    assert "within the doubt" in unsteady.rules[PRICED].sentence


def test_a_copied_token_is_priced_without_the_sweep_of_drafted_ones() -> None:
    """A classifier of a target alone has no such sweep, and its costs have no draft."""
    own = dataclasses.replace(COSTS, steps={1: [(1, 0.0)]}, begin=[(1, 0.0)])
    card = {"thresholds": {COPIED: 0.2}, "costs": dataclasses.asdict(own), "sweep": {"copied": []}}
    steep = dataclasses.replace(own, target={1: [(rows + 1, 1.0 + 0.08 * rows) for rows in range(30)]})
    found = prices_at(card, steep)
    assert found is not None and set(found.rules) == {COPIED}
    assert found.rules[COPIED].is_own and found.rules[COPIED].run == pytest.approx(0.4)


def drafted(comparison: Measurement, params: dict[str, object]) -> int | None:
    """Tokens that disco drafts in one sample."""
    key = SampleKey(choose("disco", {"classifier": "ours", **params}), comparison.prompts[0], 0)
    [(_, sample)] = comparison.decode_stint([key])
    assert isinstance(sample, SampleResult)
    return sample.num_draft_tokens


def test_every_sample_of_a_run_and_of_its_resumption_uses_the_prices_that_it_stored(recorded) -> None:
    ready, texts = recorded
    made = carded(texts, COSTS)
    ready.hold("ours", made)
    priced = choose("disco", {"classifier": "ours"})
    comparison = Measurement(ready, prompts(3, seed=9), [choose("autoregressive"), priced], SHARED)
    before = drafted(comparison, {})
    far = Prices({PRICED: RulePrice(made.card["thresholds"][PRICED], 0.99, 0.15)}, COSTS.for_one())
    stored = json.loads(json.dumps({"ours": far.to_dict()}))
    assert weighing.settle_prices(comparison, stored) == stored  # nothing is weighed again
    assert ready.classifier("ours").prices == far
    once = drafted(comparison, {})
    assert once == drafted(comparison, {}) != before
    assert drafted(comparison, {"threshold": 0.99}) == once
    ready.hold("ours", made)
    assert drafted(comparison, {}) == before


def test_a_run_weighs_what_its_strategies_ask_for_and_nothing_else(recorded) -> None:
    ready, texts = recorded
    ready.hold("ours", carded(texts, COSTS))
    plain, priced = choose("static"), choose("disco", {"classifier": "ours"})
    some = prompts(3, seed=9)
    assert weighing.settle_prices(Measurement(ready, some, [plain], SHARED), {}) == {}
    found = weighing.settle_prices(Measurement(ready, some, [plain, priced], SHARED), {})
    assert set(found) == {"ours"} and set(found["ours"]["rules"]) == {PRICED, COPIED}
    again = Prices.from_dict(json.loads(json.dumps(found["ours"])))
    assert again == ready.classifier("ours").prices
    assert again.costs["target"][1] > 0 and len(again.costs["target"]) > max(weighing.LENGTHS)
    assert again.rules[PRICED].doubt >= 0.15


def test_a_prompt_that_breaks_the_model_leaves_the_cards_prices_and_says_so(recorded) -> None:
    ready, told = fragile(), list[str]()
    ready.hold("ours", carded(recorded[1], COSTS))
    asked = Measurement(ready, [PromptItem("bad", "k")], [choose("disco", {"classifier": "ours"})], SHARED)
    assert weighing.settle_prices(asked, {}, told.append) == {}
    assert asked.models.classifier("ours").prices is None
    assert "so the prices of the classifiers' cards stay in use. " in told[0] and "NaN" in told[0]
