"""Python folds the recorded traces of the browser's tests into the recorded facts."""

from __future__ import annotations

import json

import pytest

from tests.golden import jsonl
from tests.golden.record import CHOICES, FOLDER, facts, name_of, summed

EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.mark.parametrize("label", [choice.label for choice in CHOICES])
def test_python_still_folds_a_recorded_trace_to_the_recorded_facts(label: str) -> None:
    events = jsonl.read(FOLDER / f"{name_of(label)}.jsonl")

    expected = EXPECTED[name_of(label)]

    assert facts(summed(events, label, expected["tokens"])) == expected


def test_every_strategy_wrote_the_same_text() -> None:
    assert len({tuple(expected["tokens"]) for expected in EXPECTED.values()}) == 1
