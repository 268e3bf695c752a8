"""Regret: how much of the speed of its bound a strategy did not reach."""

from __future__ import annotations

import pytest

from decoding.choice import Choice, choose
from decoding.core.load import Load
from decoding.measure.sample import Audit, SampleResult
from decoding.measure.summary import report
from decoding.strategies import STRATEGIES

ALONE, HYBRID, BOUND = choose("autoregressive"), choose("hybrid"), choose("best-source")


def sample(choice: Choice, prompt: str, category: str, speed: float) -> SampleResult:
    return SampleResult(
        choice.label, prompt, category, 0, 5, (1,) * 10, "", "length", 0, round(10e9 / speed), 10, 0, 0,
        1, 1, 1, 1, 1, (0, 1), (1,), (1,), Audit("identical"),
    )  # fmt: skip


def regrets(speeds: list[tuple[str, float, float]], choices: tuple[Choice, ...] = (ALONE, HYBRID, BOUND)):  # type: ignore[no-untyped-def]
    """Return each strategy's regret. `speeds` are category, the hybrid's speed and its bound's, by prompt."""
    samples = []
    for number, (category, own, bound) in enumerate(speeds):
        at = {"autoregressive": 50.0, "hybrid": own, "best-source": bound}
        samples += [sample(choice, str(number), category, at[choice.strategy]) for choice in choices]
    return {row["label"]: row["regret"] for row in report(choices, {c.label: "table" for c in choices}, samples)}


def test_regret_is_paired_with_the_bound_by_prompt_and_ordered_by_category() -> None:
    found = regrets([("prose", 100, 100), ("code", 100, 200), ("code", 50, 100), ("prose", 100, 200)])
    assert found["autoregressive"] is None and found["best-source"] is None
    hybrid = found["hybrid"]
    assert (hybrid["bound"], hybrid["reached"]["prompts"]) == ("best-source", 4)
    assert hybrid["regret"] == pytest.approx(0.4)  # 0.3 s in all against 0.5
    assert hybrid["reached"]["median"] == pytest.approx(0.5)  # of 1, .5, .5 and .5
    parts = [(part["category"], round(part["regret"], 6), part["reached"]["prompts"]) for part in hybrid["by_category"]]
    assert parts == [("code", 0.5, 2), ("prose", 0.25, 2)]
    assert hybrid["sentence"] == "The regret of hybrid is 40 % of the speed of its bound best-source (4 prompts)."


def test_six_prompts_give_the_regret_an_interval() -> None:
    hybrid = regrets([("", own, 100) for own in (70, 75, 80, 85, 90, 95)])["hybrid"]
    assert hybrid["by_category"] == []  # there is one
    low, high = hybrid["reached"]["low"], hybrid["reached"]["high"]
    assert 0.7 < low < hybrid["reached"]["ratio"] < high < 1
    assert hybrid["sentence"].endswith(
        f"(95 % interval {100 - 100 * high:.0f} % to {100 - 100 * low:.0f} %, 6 prompts)."
    )


def test_a_strategy_as_fast_as_its_bound_has_no_regret() -> None:
    assert regrets([("", 101, 100)])["hybrid"]["sentence"] == (
        "hybrid was as fast as its bound best-source: it has no regret (1 prompt)."
    )


def test_without_its_bound_at_the_same_load_there_is_nothing_to_regret() -> None:
    for choices in ((ALONE, HYBRID), (ALONE, HYBRID, ALONE.at(Load(4)), BOUND.at(Load(4)))):
        assert regrets([("", 70, 100)], choices)["hybrid"] is None


def test_every_bound_that_a_strategy_names_is_a_bound() -> None:
    named = [STRATEGIES[strategy.bound] for strategy in STRATEGIES.values() if strategy.bound]
    assert named and all(strategy.role == "bound" for strategy in named)
