"""Percentiles of waiting times and their intervals."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from decoding.measure.percentiles import fewest, of_bins, of_values


@pytest.mark.parametrize(("percent", "prompts"), [(50, 6), (95, 72), (99, 368)])
def test_a_percentile_has_an_interval_from_so_many_prompts_on(percent: int, prompts: int) -> None:
    assert fewest(percent) == prompts
    for count in (prompts - 1, prompts):
        found = of_values(range(count), count)
        assert found and bool(found["intervals"][f"p{percent}"]) == (count >= prompts)


def test_no_request_has_no_percentile() -> None:
    assert of_values([], 0) is None and of_bins({}, 0) is None


@pytest.mark.parametrize(("percent", "true"), [(50, 0.6931), (95, 2.9957)])
@pytest.mark.parametrize("repeats", [1, 3])
def test_intervals_hold_the_true_percentile_in_95_of_100_runs_also_where_a_prompt_comes_again(
    percent: int, true: float, repeats: int
) -> None:
    """Waiting times of 100 prompts, exponential. In the worst case all repeats of a prompt wait alike."""
    dice, held = random.Random(1), 0
    for _ in range(1000):
        times = [dice.expovariate(1) for _ in range(100)]
        found = of_values(times * repeats, prompts=100)
        low, high = found["intervals"][f"p{percent}"] if found else (0, 0)
        held += low <= true <= high
    assert 935 <= held <= 990


def test_an_interval_surrounds_its_percentile_and_bins_give_the_same_as_values() -> None:
    dice = random.Random(2)
    values = [float(dice.randrange(200)) for _ in range(4000)]
    exact, binned = of_values(values, 400), of_bins(Counter(values), 400)
    assert exact and binned and exact["intervals"] == binned["intervals"]
    for found in (exact, binned):
        for name, (low, high) in found["intervals"].items():
            assert low <= found[name] <= high
