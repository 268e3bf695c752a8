"""The pure parts of SSD: fan-outs, placement, counts, backups."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.core.drafter import Draft
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.drafting import fan_outs as fanout
from decoding.drafting.fan_outs import by_fanout, by_probability
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.ssd.backups import random_tokens
from decoding.ssd.policy.planner import RANKS, OutcomeCounts, planner_for
from decoding.ssd.policy.ssd_policy import ngram_tokens
from decoding.ssd.speculator.drawing import DraftedChain, Estimator, bend
from tests.kit.worlds import some_classifier


@given(lookahead=st.integers(1, 16), branches=st.integers(1, 80), acceptance=st.floats(0, 1), power=st.floats(0.05, 3))
def test_a_fan_out_has_an_entry_for_every_count_and_uses_every_branch(
    lookahead: int, branches: int, acceptance: float, power: float
) -> None:
    counts = fanout.count_probabilities([acceptance] * lookahead)
    probabilities = [[count / (rank + 1) for rank in range(RANKS)] for count in counts]
    for made in (
        fanout.uniform(lookahead, branches),
        fanout.geometric(lookahead, branches, acceptance, power),
        fanout.measured(probabilities, branches),
    ):
        assert len(made) == lookahead + 1 and sum(made) == branches and min(made) >= 0


def test_a_geometric_fan_out_is_that_of_the_theorem() -> None:
    """The published formula at a = 0.8, r = 0.55, K = 7, 24 branches: 4.2 3.6 3.1 2.7 2.3 2.0 1.8 4.3."""
    assert fanout.geometric(7, 24, 0.8, 0.55) == (4, 4, 3, 3, 2, 2, 2, 4)
    assert fanout.geometric(7, 24, 0.9, 0.55)[-1] == 8


def test_a_fan_out_follows_what_was_measured() -> None:
    probabilities = [[0.5, 0.3], [0.4, 0.01]]
    assert [fanout.measured(probabilities, n) for n in (1, 2, 3)] == [(1, 0), (1, 1), (2, 1)]


def test_a_shorter_draft_keeps_the_branches_of_the_end() -> None:
    assert fanout.fitted((4, 3, 2, 1), 3) == (4, 3, 2, 1)
    assert fanout.fitted((4, 3, 2, 1), 1) == (4, 6)


def test_the_exponent_of_a_power_law_is_found() -> None:
    assert fanout.exponent(lambda count: 0.3 * count**-0.54) == pytest.approx(0.54)


def test_branches_go_to_the_likeliest_outcomes() -> None:
    guesses = [[5, 6, 7], [], [8, 9]]
    probabilities = [[0.3, 0.05, 0.01], [0.2, 0.1, 0.1], [0.25, 0.08, 0.02]]
    chosen = by_probability(3, guesses, probabilities)
    assert chosen.outcomes == ((0, 5), (2, 8), (2, 9))
    assert chosen.fanout == (1, 0, 2)
    assert chosen.predicted_hit == pytest.approx(0.63)
    assert by_fanout((2, 4, 1), guesses, probabilities).outcomes == ((0, 5), (0, 6), (2, 8))


def test_counts_overrule_the_prior() -> None:
    outcomes = OutcomeCounts(0.5)
    for _ in range(200):
        outcomes.add(drafted=2, accepted=0, rank=1)
        outcomes.add(drafted=2, accepted=2, rank=0)
    assert outcomes.count_probabilities(2) == pytest.approx([0.5, 0.01, 0.49], abs=0.02)
    assert outcomes.rank_probabilities("refused")[1] > 0.9 and outcomes.rank_probabilities("bonus")[0] > 0.9
    assert sum(outcomes.rank_probabilities("refused")) < 1.0


def test_what_was_said_before_is_echoed_from_its_last_and_longest_likeness() -> None:
    text, echoes = [1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3], Echoes()
    echoes.follow(text)
    assert ngram_tokens(echoes, 3) == [4, 9, 2]  # after 1 2 3, not after the later 2 3
    echoes.follow([*text, 4])
    assert ngram_tokens(echoes, 2) == [9, 2]
    echoes.follow([*text, 4, 77])
    assert ngram_tokens(echoes, 2) == []


def test_an_echo_goes_on_in_circles() -> None:
    echoes = Echoes()
    echoes.follow([6, 7, 6, 7])
    assert ngram_tokens(echoes, 5) == [6, 7, 6, 7, 6]


def test_random_tokens_are_fixed_by_place_and_lie_in_the_vocabulary() -> None:
    first = random_tokens(3, [1, 2, 3], 200, 11)
    assert first == random_tokens(3, [1, 2, 3], 200, 11) != random_tokens(4, [1, 2, 3], 200, 11)
    assert set(first) == set(range(11))


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
