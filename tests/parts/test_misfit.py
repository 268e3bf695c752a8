"""A classifier that was trained for another sampling or priced on another machine is told of, and no other."""

from __future__ import annotations

import dataclasses

import pytest

from decoding.backends.misfit import misfit
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from tests.kit.pairs import pair
from tests.kit.worlds import some_classifier

DRAWN, GREEDY = Sampling(temperature=0.6, repetition_penalty=1.1), Sampling()
CARD = {"sampling": DRAWN.to_dict(), "machine": "a fast one"}


@pytest.mark.parametrize(
    ("card", "sampling", "machine", "told"),
    [
        (
            CARD,
            GREEDY,
            "a fast one",
            "trained with temperature 0.6, repetition penalty 1.1; this runs with temperature",
        ),
        (CARD, DRAWN, "a slow one", "prices were measured on a fast one; this runs on a slow one."),
        (CARD, dataclasses.replace(DRAWN, seed=9, max_new_tokens=7, stop=("x",)), "a fast one", ""),
        ({"sampling": {**GREEDY.to_dict(), "top_k": 5}}, GREEDY, "a slow one", ""),  # greedy decoding uses no top_k
        ({"sampling": None}, DRAWN, "a slow one", ""),
    ],
)
def test_a_classifiers_misfit_is_told(card: dict[str, object], sampling: Sampling, machine: str, told: str) -> None:
    words = misfit("disco", card, sampling, machine)
    assert told in words and bool(told) == bool(words)


@pytest.mark.parametrize(("params", "weighs"), [({}, True), ({"rule": "threshold"}, False)])
def test_only_a_strategy_that_stops_at_the_runs_own_prices_promises_them(
    params: dict[str, object], weighs: bool
) -> None:
    ready = pair()
    ready.hold("mine", dataclasses.replace(some_classifier(), card={**CARD, "sampling": GREEDY.to_dict()}))
    [words] = ready.misfits([choose("disco", {**params, "classifier": "mine"})], GREEDY)
    assert ("The run weighs its own passes first" in words) is weighs
    assert ready.misfit("This plan", "mine", GREEDY) == ""  # it decides at prices measured here
