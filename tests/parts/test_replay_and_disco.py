"""A replay counts what a live run does, pass by pass; a classifier sees in training what it will see at work."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco import features, training
from decoding.disco.estimating import estimate_of
from decoding.drafting.features import DraftStep
from decoding.drafting.source import Chain
from tests.kit.recordings import NEW, SAMPLINGS, judged, recorded, world
from tests.kit.worlds import drafter_for, looking_at

ids = lambda sampling: "greedy" if sampling.is_greedy else "shared"  # noqa: E731


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
def test_one_teacher_forced_pass_labels_what_a_live_run_judges(sampling: Sampling) -> None:
    made = world()
    _, live = made.run(lambda parts: drafter_for(parts, Chain(NEW)), [3, 1], sampling, 4)
    labels, labelled = judged(live.events), training.label([recorded(made, sampling, 4)])
    assert labels and labelled.accepted[: len(labels)].tolist() == labels


def test_under_ratio_dice_a_label_is_the_chance_of_being_accepted() -> None:
    """The label is min(1, p/q), which the draws give on average."""
    made, drawn, chances = world(), [], []
    for seed in range(30):
        recording = recorded(made, Sampling(temperature=1.0, dice="ratio", max_new_tokens=NEW), seed, depth=0)
        labelled = training.label([recording])
        assert torch.equal(labelled.accepted, recording.accepted)
        drawn += recording.matches[:-1].tolist()
        chances += recording.accepted[:-1].tolist()
    assert any(0.0 < chance < 1.0 for chance in chances)
    assert sum(chances) / len(chances) == pytest.approx(sum(drawn) / len(drawn), abs=0.02)
    likely = [hit for hit, chance in zip(drawn, chances, strict=True) if chance > 0.999]
    assert all(likely)


@pytest.mark.parametrize("vocab", [4, 300])
@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.8, "top_k": 1}, {"temperature": 0.8, "dice": "ratio"}], ids=str
)
def test_one_token_is_described_and_judged_as_many_are(vocab: int, settings: dict[str, float]) -> None:
    sampling = Sampling(**settings)  # type: ignore[arg-type]
    dice = dice_for(sampling, vocab, 5)
    logits = 3 * torch.randn(6, vocab, generator=torch.Generator().manual_seed(vocab))
    aheads = [[1] * i for i in range(6)]
    scores = dice.scores(logits, aheads)
    preferences = dice.preferences(scores, aheads)
    chosen, before = dice.draw(scores, aheads), preferences.clone()
    described = features.describe(scores, preferences, chosen)
    many_rows = features.in_round(described, torch.ones(6))
    assert bool(torch.isfinite(many_rows).all())  # whatever truncation rules out
    for names in (features.NAMES, features.GLANCE, ["score"]):  # a glance tells more than it may look at
        glancing, second = looking_at(names), features.in_round(described, torch.full((6,), 2.0))
        for ahead, rows in (([], many_rows), ([5], second)):
            estimate = estimate_of(glancing)
            steps = [DraftStep([1], ahead, int(chosen[i]), scores[i : i + 1], preferences[i : i + 1]) for i in range(6)]
            answers = torch.tensor([*map(estimate.of, steps)])
            torch.testing.assert_close(answers, glancing(rows), rtol=1e-4, atol=1e-5)
            coarse = [replace(step, scores=step.scores.bfloat16()) for step in steps]  # numpy has no such format
            torch.testing.assert_close(torch.tensor([*map(estimate.of, coarse)]), answers, rtol=0.02, atol=0.01)
    assert torch.equal(preferences, before)  # looking changes nothing
