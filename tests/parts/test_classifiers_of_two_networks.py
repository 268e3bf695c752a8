"""A classifier of the design `sources` has two networks: nothing is lost of either."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from decoding.dice.sampling import Sampling
from decoding.disco import features, judging, training
from decoding.disco.classifier import DraftClassifier, load_classifier
from decoding.disco.copies import row_of
from decoding.disco.judging import read_judge
from decoding.drafting.source import Match
from decoding.training.making import OF_COPIES, label, train
from tests.kit.recordings import recorded
from tests.kit.worlds import World, looking_at

GREEDY = Sampling(max_new_tokens=60)
MATCHES = [Match(length, times, 9) for length in (1, 4, 30) for times in (1, 3, 9)]


@pytest.fixture(scope="module")
def labelled() -> training.Labelled:
    return label("sources", [recorded(World.of_tables(5, seed), GREEDY, seed) for seed in range(12)])


def both_of(of_drafts: DraftClassifier, of_copies: DraftClassifier) -> DraftClassifier:
    return DraftClassifier(of_drafts.drafted, of_copies.drafted)


def test_it_judges_drafted_tokens_as_one_of_the_design_ours_does(labelled) -> None:  # type: ignore[no-untyped-def]
    drafts = labelled.only(labelled.rows[:, features.NAMES.index("copied")] == 0)
    ours, both = train("ours", drafts, drafts), train("sources", labelled, labelled)
    torch.testing.assert_close(both(drafts.rows), ours(drafts.rows))
    for ahead in range(40):
        assert both.unrolled(ahead) == ours.unrolled(ahead)  # no more units to ask
    assert both.glances and ours.glances and both.knows_copies


def test_both_networks_are_stored_and_read_again_with_or_without_torch(tmp_path: Path) -> None:
    both = both_of(looking_at(features.GLANCE), looking_at(OF_COPIES.columns))
    both.card = {"features": list(features.NAMES), "pair": [], "thresholds": {"copied": 0.1}}
    both.save(tmp_path)
    rows = torch.tensor([row_of(match, 2) for match in MATCHES])
    assert torch.equal(load_classifier(tmp_path)(rows), both(rows))
    judge = read_judge((tmp_path / "classifier.safetensors").read_bytes(), both.card)
    assert [judge(match, 2) for match in MATCHES] == pytest.approx(both(rows).tolist(), abs=1e-6)


def test_a_correction_of_drafted_tokens_leaves_copied_ones_as_they_are() -> None:
    both = both_of(looking_at(features.GLANCE), looking_at(OF_COPIES.columns))
    moved = both.scaled(1.5, -0.4)
    drafted = torch.rand(20, len(features.NAMES))
    drafted[:, [features.NAMES.index(name) for name in judging.MATCHES]] = 0.0
    torch.testing.assert_close(torch.logit(moved(drafted)), 1.5 * torch.logit(both(drafted)) - 0.4, atol=1e-3, rtol=0)
    copied = torch.tensor([row_of(match, ahead) for match in MATCHES for ahead in (0, 3, 19)])
    assert torch.equal(moved(copied), both(copied))
