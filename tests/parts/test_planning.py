"""The whole way from prompts to recordings, to a classifier with its card, to settings, to a run that uses them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import partial

import pytest

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.disco import metrics
from decoding.disco.features import GLANCE
from decoding.disco.training import Labelled, label, train
from decoding.prices.cost_model import CostModel
from decoding.replay.confirming import run_all
from decoding.replay.planning import CAP, RecordedSet, price_of_a_token, study
from decoding.strategies.disco import Priced
from decoding.training.making import TrainingStep, make_classifier
from decoding.training.splits import Splits
from tests.kit.pairs import ALL, SHARED, pair, prompts

pytestmark = pytest.mark.slow
PARTS = ALL[:20], ALL[40:50], ALL[60:70]


@pytest.fixture(scope="module")
def made() -> tuple[ModelPair, list[TrainingStep], dict[str, float]]:
    ready, told = pair(), list[TrainingStep]()
    classifier = make_classifier(
        ready, Splits.of([prompt for part in PARTS for prompt in part]), SHARED, on_progress=told.append
    )
    ready.hold("ours", classifier)
    return ready, told, json.loads(json.dumps(classifier.card))  # a card is JSON through and through


def test_a_card_says_what_the_classifier_was_made_of_and_how_good_it_is(made) -> None:  # type: ignore[no-untyped-def]
    _, told, card = made
    assert card["prompts"] == {"training": 20, "validation": 10, "test": 10}
    lines = [json.dumps([[prompt.id, prompt.text] for prompt in part]) for part in PARTS]
    assert [*card["data"].values()] == [hashlib.sha256(each.encode()).hexdigest() for each in lines]
    assert card["thresholds"]["priced"] > 0
    assert 0 < card["thresholds"]["threshold"] < 1
    assert 0.5 < card["metrics"]["auc"] <= 1
    assert card["looks_at"] == list(GLANCE)
    assert set(card["predicted"]) == {"best static", "heuristic", "oracle", "disco:threshold", "disco:priced"}
    phases = list(dict.fromkeys(step.phase for step in told))
    recorded = [f"recording {part}" for part in ("training", "validation", "test", "greedy texts")]
    assert phases[:6] == [*recorded, "training", "measuring costs"]


def test_a_classifier_that_was_trained_at_a_temperature_is_calibrated_for_greedy_runs_too(made) -> None:  # type: ignore[no-untyped-def]
    ready, _, card = made
    greedy = dataclasses.replace(SHARED, temperature=0.0)
    trained, fitted = ready.classifier("ours", SHARED), ready.classifier("ours", greedy)
    assert trained is ready.classifier("ours") and fitted is ready.classifier("ours", greedy)
    tokens = label(study(ready, ALL[60:], greedy, tails=False).recordings)
    losses = [metrics.measure(each(tokens.rows), tokens.accepted).bce for each in (trained, fitted)]
    assert losses[1] < losses[0]
    assert card["greedy"]["labelled"] == len(label(study(ready, PARTS[1], greedy, tails=True).recordings).rows)
    assert fitted.tuned("priced") == card["greedy"]["thresholds"]["priced"] != trained.tuned("priced")
    assert ready.misfits([choose("disco", {"classifier": "ours"})], greedy) == []
    plainly = dataclasses.replace(trained, card={**card, "greedy": None})  # as where it is trained greedily
    assert plainly.greedy is plainly


def test_a_confirmation_copies_nothing_from_an_earlier_one() -> None:
    """A plan's rows at load used to begin with the texts that the rows for one user had written."""
    ready, asked = pair(), [choose("autoregressive"), choose("suffix", {"memory": True})]
    first, second = (run_all(ready, prompts(6), SHARED, asked)[asked[1].label] for _ in range(2))
    assert first["num_draft_tokens"] == second["num_draft_tokens"] > 0


@pytest.fixture(scope="module")
def labelled() -> tuple[RecordedSet, list[Labelled]]:
    """The recorded validation prompts, and what is learnt from: the training and the validation prompts."""
    training, validation = (study(pair(), part, SHARED, tails=True) for part in (ALL[:40], ALL[40:60]))
    return validation, [label(part.recordings) for part in (training, validation)]


def test_the_price_of_a_token_needs_no_search(labelled) -> None:  # type: ignore[no-untyped-def]
    """It comes within a fortieth of the best threshold there is, whatever a drafted token costs."""
    recorded, examples = labelled
    classifier = train(*examples)
    for draft in (0.05, 0.15, 0.3):
        costs = CostModel.of_one((0.0, *(1.0 + 0.05 * rows for rows in range(CAP + 1))), draft, 0.0, 0.0, 0.0)

        def speed(price: float) -> float:
            return costs.tokens_per_s(recorded.count(partial(Priced, price, CAP), classifier), "estimate")  # noqa: B023

        price = price_of_a_token(recorded, costs, classifier)
        assert speed(price) > 0.975 * max(speed(step / 50) for step in range(1, 50, 3))
