"""A classifier's estimates are corrected by the verdicts on the same text: little where they fit, soon where not."""

from __future__ import annotations

import pytest

from decoding.drafting.recalibration import LEAST_SLOPE, MOST_OFFSET, MOST_SLOPE, Recalibration


@pytest.mark.parametrize("accepted", [0, 1])
@pytest.mark.parametrize("estimate", [0.0, 0.98])
def test_offset_and_slope_stay_within_bounds_whatever_comes(estimate: float, accepted: int) -> None:
    recalibration = Recalibration()
    for _ in range(5000):
        recalibration.learn([estimate], accepted)
        assert abs(recalibration.offset) <= MOST_OFFSET and LEAST_SLOPE <= recalibration.slope <= MOST_SLOPE
        assert 0.0 < recalibration.corrected(estimate) < 1.0
