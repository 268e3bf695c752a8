"""The pure parts of SSD: fan-outs, placement, counts, backups."""

from __future__ import annotations

import pytest
import torch

from decoding.core.drafter import Draft
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.drafting import fan_outs as fanout
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.ssd.policy.planner import planner_for
from decoding.ssd.speculator.drawing import DraftedChain, Estimator, bend
from tests.kit.worlds import some_classifier


def test_a_geometric_fan_out_is_that_of_the_theorem() -> None:
    """The published formula at a = 0.8, r = 0.55, K = 7, 24 branches: 4.2 3.6 3.1 2.7 2.3 2.0 1.8 4.3."""
    assert fanout.geometric(7, 24, 0.8, 0.55) == (4, 4, 3, 3, 2, 2, 2, 4)
    assert fanout.geometric(7, 24, 0.9, 0.55)[-1] == 8


def test_a_shorter_draft_keeps_the_branches_of_the_end() -> None:
    assert fanout.fitted((4, 3, 2, 1), 3) == (4, 3, 2, 1)
    assert fanout.fitted((4, 3, 2, 1), 1) == (4, 6)


def test_holding_back_makes_the_cached_tokens_less_likely_and_leaves_the_others_in_proportion() -> None:
    scores = torch.log(torch.tensor([[0.56, 0.28, 0.10, 0.06]]))
    bent = torch.softmax(bend(scores, 0.5, 1), -1)
    torch.testing.assert_close(bent, torch.tensor([[0.28, 0.14, 0.10, 0.06]]) / 0.58)
    assert bend(scores, 1.0, 3) is scores and bend(scores, 0.5, 0) is scores


def test_what_the_text_said_before_is_guessed_first_where_it_has_proved_right() -> None:
    planner = planner_for(SpeculatorSettings(lookahead=1, branches=1), by_estimates=True)
    draft = Draft((3,), torch.empty(1, 0), 1, "limit", "fresh", 1)
    guesses = [[7, 5], [4, 8]]
    for _ in range(100):
        planner.learn(draft, accepted=0, rank=0, echo_length=2)
    assert planner.choose(draft, [0.6, 0.55], guesses, echo_lengths=[2, 0]).outcomes == ((0, 7),)
    assert planner.choose(draft, [0.6, 0.55], guesses, echo_lengths=[0, 0]).outcomes == ((1, 4),)
    # 0.7 x 0.56 > 0.3 x 0.55
    assert planner.choose(draft, [0.3, 0.55], guesses, echo_lengths=[0, 0]).outcomes == ((0, 7),)
    for _ in range(2000):
        planner.learn(draft, accepted=0, rank=1, echo_length=2)
    assert planner.choose(draft, [0.6, 0.55], guesses, echo_lengths=[2, 0]).outcomes == ((0, 5),)
    chosen = planner.choose(draft, [0.7, 0.55], guesses, echo_lengths=[2, 0])
    assert chosen.outcomes == ((1, 4),) and chosen.predicted_hit == pytest.approx(0.7 * 0.55)


def test_a_token_that_truncation_left_alone_is_estimated_like_any_other() -> None:
    asked = some_classifier()
    unasked = [number for number, name in enumerate(features.NAMES) if name not in features.QUICK]
    hidden = asked.drafted.hidden.index_fill(1, torch.tensor(unasked), 0.0)
    estimator = Estimator(DraftClassifier(asked.drafted._replace(hidden=hidden)), lambda estimate: estimate)
    scores = torch.tensor([[-torch.inf, 3.0, -torch.inf]])
    told, *_ = estimator.one(DraftedChain(), scores, scores, 1, Echoes(), best=(3.0, -torch.inf))
    looked, *_ = estimator.one(DraftedChain(), scores, scores, 1, Echoes())
    assert told == pytest.approx(looked, abs=0.01) and 0.0 < told < 1.0
