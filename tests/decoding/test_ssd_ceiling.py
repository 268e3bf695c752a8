"""Ceilings of SSD, calculated by hand for texts where everything is accepted, and where nothing is."""

from __future__ import annotations

import pytest

from benchmarks._ssd_ceiling import Ceiling, ceiling
from decoding.prices.cost_model import CostModel
from decoding.replay.records import Record

FLAT = CostModel.of_one((0.0, 1.0, 1.0), draft=0.2, draft_round=0.0, catch_up=0.0, round=0.0)
ACCEPTED, REFUSED = Record.of([True] * 900, 2000), Record.of([False] * 90, 200)


def test_where_all_is_accepted_it_is_the_drafting_that_static_waits_for() -> None:
    """Nine tokens a round: static in 1 + 8 x 0.2, SSD in 1, and with a miss every second time in 1.8."""
    found = ceiling([ACCEPTED], FLAT, FLAT, {8: 0.5, 4: 0.9})
    assert found["static"] == 8
    assert found["every verdict prepared for"] == {"lookahead": 8, "over static": pytest.approx(2.6)}
    assert found["with measured hits"] == {"lookahead": 8, "hit_rate": 0.5, "over static": pytest.approx(2.6 / 1.8)}


def test_a_verification_that_suffers_from_a_draft_beside_it_lowers_it() -> None:
    slower = CostModel.of_one((0.0, 1.3, 1.3), draft=0.2, draft_round=0.0, catch_up=0.0, round=0.0)
    assert Ceiling([ACCEPTED], FLAT, slower).over_static(8, 1.0) == pytest.approx(2.0)


def test_the_share_of_drafting_that_would_do() -> None:
    """If everything is refused, only drafts of one token gain: 1 + x against 1, with hits alone."""
    found = ceiling([REFUSED], FLAT, FLAT, {1: 1.0})
    assert found["share of a drafted token"] == pytest.approx(0.2)
    assert found["share for the bar"] == pytest.approx(0.3)
    assert ceiling([REFUSED], FLAT, FLAT, {1: 0.0})["share for the bar"] is None
