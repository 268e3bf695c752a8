"""Every strategy still does what it did when its behaviour was recorded: drafts, verdicts, simulations and plans."""

from __future__ import annotations

import json

import pytest

from tests.golden.behaviour import FILE, Case, cases, digest

RECORDED = json.loads(FILE.read_text())
CASES = dict(cases())


def test_nothing_that_was_recorded_is_left_out() -> None:
    assert set(RECORDED) == set(CASES)


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_it_does_what_was_recorded(name: str, case: Case) -> None:
    """If the change is wanted: compare `python -m tests.golden.behaviour --show CASE` before and after, then record."""
    assert digest(case()) == RECORDED[name]
