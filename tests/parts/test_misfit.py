import dataclasses

import pytest

from decoding.backends.misfit import misfit
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from tests.kit.pairs import pair
from tests.kit.worlds import some_classifier

DRAWN = Sampling(temperature=0.6, repetition_penalty=1.1)
GREEDY = Sampling()


def test_a_classifier_trained_greedily_is_told_of_where_tokens_are_drawn() -> None:
    words = misfit("disco:priced", {"sampling": GREEDY.to_dict()}, DRAWN)
    assert words.startswith(
        "disco:priced uses a classifier that was trained with temperature 0.0, repetition penalty 1.0; this runs with "
        "temperature 0.6, repetition penalty 1.1."
    )
    assert words.endswith("train one with this sampling.")


def test_nothing_is_said_where_the_sampling_is_the_cards() -> None:
    other_length = Sampling(temperature=0.6, repetition_penalty=1.1, seed=9, max_new_tokens=7, stop=("x",))
    for card in ({"sampling": DRAWN.to_dict()}, {}, {"sampling": None}, {"sampling": {}}):
        assert misfit("disco", card, other_length) == ""


def test_prices_of_another_machine_are_told_of_where_both_machines_are_known() -> None:
    card = {"sampling": DRAWN.to_dict(), "machine": "a fast one"}
    words = misfit("disco", card, DRAWN, "a slow one", weighs=True)
    assert words.startswith(
        "disco uses a classifier whose prices were measured on a fast one; this runs on a slow one."
    )
    assert words.endswith("uses their prices if they differ.")
    assert misfit("disco", card, DRAWN, "a fast one") == misfit("disco", card, DRAWN) == ""
    assert misfit("disco", {"sampling": DRAWN.to_dict()}, DRAWN, "a slow one") == ""
    both = misfit("disco", card, GREEDY, "a slow one", weighs=True)
    assert "train one with this sampling." in both and both.endswith("uses their prices if they differ.")


@pytest.mark.parametrize(
    ("params", "weighs"),
    [({}, True), ({"rule": "threshold"}, False), ({"recalibrate": False}, False)],
)
def test_only_a_strategy_that_stops_at_the_runs_own_prices_promises_them(
    params: dict[str, object], weighs: bool
) -> None:
    ready, card = pair(), {"sampling": GREEDY.to_dict(), "machine": "a slow one"}
    ready.hold("mine", dataclasses.replace(some_classifier(), card=card))
    [words] = ready.misfits([choose("disco", {**params, "classifier": "mine"})], GREEDY)
    assert "measured on a slow one" in words
    assert ("The run weighs its own passes first" in words) is weighs
    assert ready.misfit("This plan", "mine", GREEDY) == ""  # it decides at prices measured here
