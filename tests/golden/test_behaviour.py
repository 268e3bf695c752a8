"""Every strategy still does what it did when its behaviour was recorded: drafts, verdicts, simulations and plans."""

from __future__ import annotations

import json

import pytest

from decoding.backends.contestants import specs
from decoding.choice import parse_choices
from decoding.strategies import STRATEGIES
from tests.golden import documents, live
from tests.golden.behaviour import FILE, FOLDER, Case, cases, difference, document, kinds, path_of

pytestmark = pytest.mark.slow
RECORDED = json.loads(FILE.read_text())
CASES, DOCUMENTS = dict(cases()), dict(documents.cases())


def test_nothing_that_was_recorded_is_left_out() -> None:
    assert set(RECORDED) == set(CASES)
    assert {*FOLDER.iterdir()} == {*map(path_of, DOCUMENTS)}


def test_every_strategy_of_ours_has_its_behaviour_recorded() -> None:
    recorded = {choice.strategy for choice in parse_choices(live.LABELS)}
    assert recorded == set(STRATEGIES) - {spec.slug for spec in specs()}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_it_does_what_was_recorded(name: str, case: Case) -> None:
    """If the change is wanted: compare `python -m tests.golden.behaviour --show CASE` before and after, then record."""
    assert difference(name, kinds(case()), RECORDED[name]) == ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_its_answers_are_those_that_were_recorded(name: str) -> None:
    assert difference(name, document(DOCUMENTS[name]()), json.loads(path_of(name).read_text())) == ""
