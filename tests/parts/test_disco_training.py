"""Training a classifier, storing it, and measuring it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from decoding.disco import features, metrics, training
from decoding.disco.classifier import load_classifier
from decoding.drafting.recalibration import LEAST_SLOPE, MOST_OFFSET, MOST_SLOPE, Recalibration
from decoding.errors import BadStrategy
from tests.kit.recordings import SAMPLINGS, many
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
Parts = Sequence[training.Labelled]  # to learn from, to stop by, and to measure on


@pytest.fixture(scope="module")
def parts() -> Parts:
    return [training.label(many(SAMPLINGS[1], seeds)) for seeds in (range(60), range(60, 90), range(90, 120))]


def test_training_learns_to_tell_accepted_from_refused_and_means_its_probabilities(parts: Parts) -> None:
    told, (learnt, held_out, unseen) = list[dict[str, float]](), parts
    classifier = training.train(learnt, held_out, columns=features.NAMES, on_epoch=lambda done, of: told.append(of))
    found = metrics.measure(classifier(unseen.rows), unseen.accepted)
    assert found.auc > 0.75
    assert found.calibration_error < 0.06
    assert told[-1]["held_out_loss"] < told[0]["held_out_loss"]


def test_an_ablation_does_not_look_at_what_it_must_not_see_and_a_seed_trains_the_same_again(parts: Parts) -> None:
    *_, unseen = parts
    classifier, again = (training.train(unseen, unseen, columns=("entropy",)) for _ in range(2))
    assert torch.equal(again.drafted.hidden, classifier.drafted.hidden)
    changed = unseen.rows.clone()
    changed[:, [i for i, name in enumerate(features.NAMES) if name != "entropy"]] += 5.0
    torch.testing.assert_close(classifier(changed), classifier(unseen.rows))


def test_a_stored_classifier_answers_as_before_and_only_for_its_pair(tmp_path) -> None:  # type: ignore[no-untyped-def]
    made = some_classifier()
    made.card = {"features": list(features.NAMES), "pair": ["t", "d"]}
    made.save(tmp_path / "c")
    rows = torch.randn(5, len(features.NAMES))
    assert torch.equal(load_classifier(tmp_path / "c", ["t", "d"])(rows), made(rows))
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["card.json", "classifier.safetensors"]
    with pytest.raises(BadStrategy, match="another pair"):
        load_classifier(tmp_path / "c", ["t", "other"])


@pytest.mark.parametrize("damage", ["torn", "absent", "card", "features"])
def test_a_classifier_that_cannot_be_trusted_is_refused_in_words(tmp_path, damage: str) -> None:  # type: ignore[no-untyped-def]
    made = some_classifier()
    made.card = {"features": ["mood"] if damage == "features" else list(features.NAMES), "pair": []}
    made.save(tmp_path)
    weights, card = tmp_path / "classifier.safetensors", tmp_path / "card.json"
    if damage == "torn":
        weights.write_bytes(weights.read_bytes()[:-40])
    if damage == "absent":
        weights.unlink()
    if damage == "card":
        card.write_text("{")
    with pytest.raises(BadStrategy, match="rain it again"):
        load_classifier(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda p: training.Labelled(p.rows[:50], p.accepted[:50]), "give 50 drafted tokens and at least 200"),
        (lambda p: training.Labelled(p.rows, torch.ones_like(p.accepted)), "all were accepted"),
        (lambda p: training.Labelled(p.rows * torch.nan, p.accepted), "are NaN or infinite"),
    ],
)
def test_what_teaches_nothing_is_refused_in_words(parts: Parts, spoil, sentence: str) -> None:  # type: ignore[no-untyped-def]
    *_, part = parts
    with pytest.raises(BadStrategy, match=sentence):
        training.train(spoil(part), part)
    with pytest.raises(BadStrategy, match="no recording"):
        training.label([])


def test_the_area_under_the_curve_counts_pairs_and_f1_what_is_rightly_said() -> None:
    p = torch.tensor([0.9, 0.8, 0.8, 0.3, 0.1])
    y = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    pairs = [(a, b) for a in range(5) for b in range(5) if y[a] == 1 and y[b] == 0]
    expected = sum((p[a] > p[b]) + 0.5 * (p[a] == p[b]) for a, b in pairs) / len(pairs)
    assert metrics.area_under_roc(p, y) == pytest.approx(float(expected))
    assert metrics.f1(p >= 0.5, y) == pytest.approx(2 * 2 / (3 + 3))


@pytest.mark.parametrize("accepted", [0, 1])
@pytest.mark.parametrize("estimate", [0.0, 0.98])
def test_offset_and_slope_stay_within_bounds_whatever_comes(estimate: float, accepted: int) -> None:
    recalibration = Recalibration()
    for _ in range(5000):
        recalibration.learn([estimate], accepted)
        assert abs(recalibration.offset) <= MOST_OFFSET and LEAST_SLOPE <= recalibration.slope <= MOST_SLOPE
        assert 0.0 < recalibration.corrected(estimate) < 1.0
