"""Percentiles of waiting times and their intervals."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from decoding.measure.percentiles import fewest, percentiles


@pytest.mark.parametrize(("percent", "prompts"), [(50, 6), (95, 72), (99, 368)])
def test_a_percentile_has_an_interval_from_so_many_prompts_on(percent: int, prompts: int) -> None:
    assert fewest(percent) == prompts
    for count in (prompts - 1, prompts):
        found = percentiles(Counter(map(float, range(count))), count)
        assert found and bool(found["intervals"][f"p{percent}"]) == (count >= prompts)


@pytest.mark.parametrize("count", [7, 400])
def test_percentiles_lie_between_two_values_as_numpys_do_however_few_there_are(count: int) -> None:
    dice = random.Random(3)
    values = [float(dice.randrange(60)) for _ in range(count)]
    found = percentiles(Counter(values), count)
    assert found
    assert [found[f"p{p}"] for p in (50, 95, 99)] == pytest.approx(list(np.percentile(values, (50, 95, 99))))


@pytest.mark.parametrize(("percent", "true"), [(50, 0.6931), (95, 2.9957)])
def test_intervals_hold_the_true_percentile_in_95_of_100_runs_where_prompts_come_again(
    percent: int, true: float
) -> None:
    """Waiting times of 100 prompts, exponential. In the worst case all repeats of a prompt wait alike."""
    dice, held = random.Random(1), 0
    for _ in range(500):
        times = [dice.expovariate(1) for _ in range(100)]
        found = percentiles(Counter(times * 3), prompts=100)
        low, high = found["intervals"][f"p{percent}"] if found else (0, 0)
        held += low <= true <= high
    assert 465 <= held <= 496
