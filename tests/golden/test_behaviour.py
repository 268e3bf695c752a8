"""Every strategy still does what it did when its behaviour was recorded: drafts, verdicts, simulations and plans."""

from __future__ import annotations

import json

import pytest

from decoding.contestants import specs
from decoding.spec import parse_choices
from decoding.strategies import STRATEGIES
from tests.golden import live
from tests.golden.behaviour import FILE, Case, cases, difference, kinds

RECORDED = json.loads(FILE.read_text())
CASES = dict(cases())


def test_nothing_that_was_recorded_is_left_out() -> None:
    assert set(RECORDED) == set(CASES)


def test_every_strategy_of_ours_has_its_behaviour_recorded() -> None:
    recorded = {choice.strategy for choice in parse_choices(live.LABELS)}
    assert recorded == set(STRATEGIES) - {spec.slug for spec in specs()}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_it_does_what_was_recorded(name: str, case: Case) -> None:
    """If the change is wanted: compare `python -m tests.golden.behaviour --show CASE` before and after, then record."""
    assert difference(name, kinds(case()), RECORDED[name]) == ""
