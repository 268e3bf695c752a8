"""A classifier's estimates are corrected by the verdicts on the same text: little where they fit, soon where not."""

from __future__ import annotations

import pytest
import torch

from decoding.core.batch_state import BatchState
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier, Layers
from decoding.drafting.recalibration import LEAST_SLOPE, MOST_OFFSET, MOST_SLOPE, Recalibration
from decoding.drafting.source import View
from decoding.replay.planning import RecordedSet
from decoding.replay.player import RecordedDraft
from decoding.strategies.budget import Budget
from decoding.trace.events import Drafted
from tests.kit.recordings import recorded, world
from tests.kit.worlds import stopped_by, verdict_on


@pytest.mark.parametrize("accepted", [0, 1])
@pytest.mark.parametrize("estimate", [0.0, 0.98])
def test_offset_and_slope_stay_within_bounds_whatever_comes(estimate: float, accepted: int) -> None:
    recalibration = Recalibration()
    for _ in range(5000):
        recalibration.learn([estimate], accepted)
        assert abs(recalibration.offset) <= MOST_OFFSET and LEAST_SLOPE <= recalibration.slope <= MOST_SLOPE
        assert 0.0 < recalibration.corrected(estimate) < 1.0


def test_a_token_that_a_budget_left_out_was_not_judged() -> None:
    """The estimate of a left-out token would otherwise count as refused after a whole acceptance."""
    trimmed, whole = Budget("stop", 6), Budget("stop", 6)
    for policy, seen in ((trimmed, [0.9, 0.8, 0.2]), (whole, [0.9, 0.8])):
        policy.batch = BatchState()
        policy.begin(View())
        for each in seen:
            policy.stops(each)
        policy.judged(verdict_on(RecordedDraft(range(2)), 2))
        policy.begin(View())
        policy.stops(0.7)
    assert trimmed._survival == whole._survival != [1.0, 0.7]


def overconfident() -> DraftClassifier:
    """Estimates of about 0.95, whatever the token."""
    width = len(features.NAMES)
    card = {"thresholds": {"priced": 0.3, "threshold": 0.5}}
    return DraftClassifier(
        Layers(torch.full((2, width), 0.01), torch.ones(2), torch.ones(1, 2), torch.ones(1)), card=card
    )


@pytest.mark.parametrize("seed", range(2))
def test_a_drafts_own_end_token_teaches_a_replay_as_little_as_a_live_run(seed: int) -> None:
    """A live run asks no rule about an end token, so no verdict on one may move the replay's estimates."""
    sampling, classifier = Sampling(max_new_tokens=60), overconfident()
    made = world(seed, ends=[5, 9, 11, 2])
    estimates = RecordedSet([recorded(made, sampling, seed, depth=8)]).estimates(classifier)
    _, live = made.run(stopped_by("priced", 8, classifier, 0.3), [3, 1], sampling, seed)
    starts, at = [], 0
    for event in live.events:
        if isinstance(event, Drafted):
            at = event.position - 2
            starts.append((at, event))
    assert starts
    for at, event in starts:
        if event.stop == "eos":
            assert len(estimates[0][at]) == len(event.tokens) - 1
        assert estimates[0][at][: len(event.estimate)] == pytest.approx(event.estimate, abs=1e-5)
