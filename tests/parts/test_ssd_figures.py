"""Figures of a trace about hits, and about drafting that cost no time."""

from __future__ import annotations

import json

import pytest

from decoding.choice import choose
from decoding.measure.summary import report
from decoding.trace.accounting import count, rates
from decoding.trace.events import Anticipated, Drafted, Event, Finished, Started, Verified
from tests.golden.record import summed

TRACE: list[Event] = [
    Started(5, 1_000),
    Drafted(1, 5, 2, (7, 8), (0.9, 0.8), (), "limit", "fresh", 2, 1_000, 3_000),
    Verified(1, 2, 6, "bonus", 2_000, 3_000, 6_000),
    Anticipated(1, ((2, 6, 2), (0, 5, 2)), 0.75, 3_000, 5_000, (1, 0, 1), 3, 1_000, 1_000, pass_rows=2),
    Drafted(2, 8, 2, (4, 3), (0.3, 0.2), (), "limit", "hit", 0, 6_000, 6_100),
    Verified(2, 0, 2, "correction", 100, 6_100, 8_100),
    Anticipated(2, ((1, 6, 2),), 0.25, 6_200, 10_200, (0, 1, 0), 3, 4_000, 0, pass_rows=1),
    Drafted(3, 9, 2, (1, 1), (), (), "limit", "miss", 0, 10_200, 10_300, "ngram"),
    Verified(3, 0, 2, "correction", 2_200, 10_300, 12_300),
    Drafted(4, 10, 2, (1, 1), (0.5, 0.5), (), "limit", "miss", 2, 12_300, 14_300, "neural"),
    Verified(4, 2, 2, "bonus", 2_000, 14_300, 16_300),
    Finished("length", 11, 16_300),
]


def test_hits_are_counted_of_the_verdicts_that_a_draft_followed() -> None:
    found = count(TRACE)
    assert found is not None
    assert rates([found, json.loads(json.dumps(found))]) == {
        "hit_rate": pytest.approx(1 / 3),
        "predicted_hit_rate": pytest.approx(1 / 3),  # of three outcomes; for the last nothing was prepared
        "prepared_branches": 1.5,
        # 1,000 of 1,000 ns hidden in round 1; 1,900 of 4,000 in round 2; the first and the last draft made it wait
        "hidden_share": pytest.approx(2_900 / 9_000),
    }


def test_what_is_prepared_beside_the_target_is_no_part_of_the_decoding_time() -> None:
    sample = summed(TRACE, "ssd", [*range(11)])
    assert sample.num_draft_passes == 2 + 3 + 3 + 2
    assert sample.draft_ns == 2_000 + 100 + 100 + 2_000 + (4_000 - 1_900)
    [row] = report([choose("ssd")], {"ssd:3": "fast"}, [sample])
    assert row["hit_rate"] == pytest.approx(1 / 3)
