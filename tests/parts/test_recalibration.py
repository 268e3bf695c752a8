"""A classifier's estimates are corrected by the verdicts on the same text: little where they fit, soon where not."""

from __future__ import annotations

import pytest

from decoding.core.batch_state import BatchState
from decoding.drafting.recalibration import LEAST_SLOPE, MOST_OFFSET, MOST_SLOPE, Recalibration
from decoding.drafting.source import View
from decoding.replay.player import RecordedDraft
from decoding.strategies.budget import Budget
from tests.kit.worlds import verdict_on


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
