"""DISCO's classifier learns from copied tokens, and ends copies live as it does in a replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.disco import features, training
from decoding.disco.classifier import DraftClassifier, load_classifier
from decoding.disco.copies import judge_of, with_copies
from decoding.disco.judging import MATCHES, read_judge
from decoding.errors import BadStrategy
from tests.kit.recordings import judged, recorded
from tests.kit.worlds import World, looking_at, some_classifier

GREEDY = Sampling(max_new_tokens=60)


def test_each_copied_token_is_labelled_as_a_live_run_would_judge_it() -> None:
    for seed in range(4):
        live = World.of_tables(5, seed).run(choose("suffix", {"threshold": 0.0}), [3, 1], GREEDY, seed)[1].events
        labels = judged(live)
        recordings = [recorded(World.of_tables(5, seed), GREEDY, seed)]
        alone = training.label(recordings)
        copied = with_copies(alone, recordings).accepted[len(alone.accepted) :].tolist()
        assert labels and copied[: len(labels)] == labels


def test_a_classifier_that_learned_from_drafts_alone_is_refused() -> None:
    with pytest.raises(BadStrategy, match="train-disco --design sources"):
        judge_of(looking_at(features.GLANCE))


def deciding() -> DraftClassifier:
    classifier = some_classifier()
    classifier.card = {"thresholds": {"copied": 0.1, "priced": 0.3, "threshold": 0.5}, "features": features.NAMES}
    return classifier


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda weights, card: (weights[:-4], card), "cannot be read"),
        (lambda weights, card: (weights.replace(b'"F32"', b'"F16"'), card), "they are F16, not F32"),
        (lambda weights, card: (weights, {**card, "features": card["features"][:-1]}), "'share' is not in"),
        (lambda weights, card: (weights, {**card, "thresholds": {}}), "no threshold for the rule copied"),
    ],
)
def test_a_file_that_holds_no_judge_is_refused(spoil: Any, says: str, tmp_path: Path) -> None:
    deciding().save(tmp_path)
    weights, card = (tmp_path / "classifier.safetensors").read_bytes(), json.loads((tmp_path / "card.json").read_text())
    with pytest.raises(BadStrategy, match=says):
        read_judge(*spoil(weights, card))


def test_a_classifier_of_an_earlier_version_answers_as_before(tmp_path: Path) -> None:
    """Its card lists no matches, but a feature that no version computes any more: it may not have used that."""
    made, old = looking_at(features.GLANCE), len(features.NAMES) - len(MATCHES)
    made.card = {"features": [*features.NAMES[:old], "echo_1"], "pair": [], "thresholds": {}}
    made.save(tmp_path)
    tensors, rows = load_file(tmp_path / "classifier.safetensors"), torch.randn(5, len(features.NAMES))
    for weight in (0.0, 1.0):
        columns = (tensors["hidden.weight"][:, :old], torch.full((6, 1), weight))
        save_file({**tensors, "hidden.weight": torch.cat(columns, 1)}, tmp_path / "classifier.safetensors")
        if weight:
            with pytest.raises(BadStrategy, match="reads other features"):
                load_classifier(tmp_path)
        else:
            torch.testing.assert_close(load_classifier(tmp_path)(rows), made(rows))
