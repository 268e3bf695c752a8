"""What-if for several users at once: prices read from traces, and the replay at load with them."""

from __future__ import annotations

import pytest

from decoding.prices.cost_model import CostModel
from decoding.prices.fit import MOST_USERS, with_loads
from decoding.trace.events import Drafted, Event, Verified

MS = 1_000_000
COSTS = CostModel.of_one(tuple(0.010 + 0.001 * rows for rows in range(9)), 0.002, 0.0, 0.0, 0.001)


def verifying(texts: int, rows: int) -> float:
    """Truth of these tests: a pass costs 8 ms, 1 ms a text and 1 ms a row."""
    return 0.008 + 0.001 * texts + 0.001 * rows


def trace(users: int, lookahead: int, rounds: int = 6) -> list[Event]:
    """One text of so many that draft alike, at these prices."""
    now, events = 0, list[Event]()
    for number in range(1, rounds + 1):
        start = now
        drafting = lookahead * (2 + users // 4) * MS
        if lookahead:
            tokens, sure = (5,) * lookahead, (0.9,) * lookahead
            events.append(
                Drafted(number, 0, lookahead, tokens, sure, (), "limit", "fresh", lookahead, now, now + drafting)
            )
        asked = start + drafting + users * MS // 10
        now = asked + round(verifying(users, users * (lookahead + 1)) * 1e9)
        events.append(Verified(number, 0, 1, "correction", asked - start, asked, now))
    return events


def at(users: int, *lookaheads: int) -> list[list[list[Event]]]:
    return [[trace(users, lookahead)] * 3 for lookahead in lookaheads]


def test_prices_of_joint_passes_are_read_from_the_runs_at_that_load() -> None:
    found = with_loads(COSTS, {4: at(4, 0, 2, 4)}, 0.0)[0]
    for rows in (4, 8, 12, 20):
        assert found.verify(4, rows) == pytest.approx(verifying(4, rows))
    assert found.draft(4) == pytest.approx(0.003)
    assert found.fixed(4) == pytest.approx(0.0004, abs=0.0007)
    assert found.verify(1, 3) == COSTS.verify(1, 3) and found.draft(1) == COSTS.draft(1)


def test_beyond_the_measured_loads_a_pass_costs_what_its_rows_cost() -> None:
    found = with_loads(COSTS, {4: at(4, 0, 4)}, 0.0)[0]
    assert found.verify(64, 64) == pytest.approx(found.verify(4, 20) + 44 * COSTS.row())
    alone = with_loads(COSTS, {}, 0.0)[0]
    assert alone.verify(16, 64) == pytest.approx(COSTS.verify(1, 8) + 56 * COSTS.row())
    assert COSTS.draft(1) < alone.draft(16) < alone.draft(MOST_USERS)
    assert alone.fixed(MOST_USERS) == pytest.approx(64 * COSTS.fixed(1))
