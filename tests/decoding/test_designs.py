"""DISCO as published beside ours, and trainings that begin from another pair's classifier."""

from __future__ import annotations

import json

import pytest

from decoding.backends.pair import ModelPair
from decoding.disco import features, training
from decoding.disco.cards import rule_of
from decoding.disco.classifier import DraftClassifier
from decoding.errors import BadStrategy
from decoding.training.designs import NETWORKS, How
from decoding.training.making import make_classifier
from decoding.training.splits import Splits
from tests.kit.pairs import ALL, SHARED, pair
from tests.kit.recordings import SAMPLINGS, many

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published() -> tuple[ModelPair, DraftClassifier]:
    ready = pair()
    made = make_classifier(ready, Splits.of(ALL), SHARED, how=How("paper"))
    ready.hold("published", made)
    return ready, made


def test_the_published_design_sees_the_published_features_and_says_so_on_its_card(published) -> None:  # type: ignore[no-untyped-def]
    _, made = published
    card = json.loads(json.dumps(made.card))
    assert made.sees <= set(features.PUBLISHED) and len(features.PUBLISHED) == 12
    assert (card["design"], card["looks_at"], len(made.drafted.hidden)) == ("paper", list(features.PUBLISHED), 64)
    assert 0 < card["thresholds"][rule_of("paper")] < 1 and rule_of("paper") == "threshold"


def test_a_training_that_begins_from_a_classifier_begins_with_what_it_knows() -> None:
    parts = [training.label(many(SAMPLINGS[1], seeds)) for seeds in (range(30), range(30, 50))]
    glance = NETWORKS["ours"][1]
    old = How().train(glance, *parts)
    few, told = training.label(many(SAMPLINGS[1], range(50, 60))), dict[str, list[training.Progress]](warm=[], cold=[])
    How(start=old).train(glance, few, parts[1], told["warm"].append)
    How().train(glance, few, parts[1], told["cold"].append)
    assert told["warm"][0].held_out_loss < told["cold"][0].held_out_loss
    assert told["warm"][0].held_out_loss < 1.1 * min(progress.held_out_loss for progress in told["cold"])


def test_a_start_of_another_design_is_refused_before_anything_is_recorded() -> None:
    old = How().train(NETWORKS["ours"][1], *[training.label(many(SAMPLINGS[1], range(30)))] * 2)
    with pytest.raises(BadStrategy, match="not the design paper; start from a classifier of that design"):
        make_classifier(pair(), Splits.of(ALL), SHARED, how=How("paper", old))
