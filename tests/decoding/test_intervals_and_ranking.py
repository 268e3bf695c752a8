import random
import statistics
from collections.abc import Callable

import pytest

from decoding.measure.intervals import fewest_rows, median_interval, median_intervals
from decoding.measure.ranking import Ranking, ranking
from decoding.measure.sample import Audit, Sample
from decoding.measure.seeing import are_too_few, outlook
from decoding.measure.summary import report
from decoding.measure.verdict import verdict
from decoding.spec import choose

Draw = Callable[[random.Random], float]

NORMAL: Draw = lambda dice: dice.gauss(0, 0.25)  # noqa: E731
HEAVY: Draw = lambda dice: 0.15 * dice.gauss(0, 1) / dice.gammavariate(1, 1) ** 0.5  # noqa: E731
SKEWED: Draw = lambda dice: dice.expovariate(4) - 0.1732868  # noqa: E731
TWO_HUMPS: Draw = lambda dice: dice.choice((-0.3, 0.3)) + dice.gauss(0, 0.05)  # noqa: E731


@pytest.mark.parametrize("draw", [NORMAL, HEAVY, SKEWED, TWO_HUMPS])
@pytest.mark.parametrize("prompts", [8, 24])
def test_intervals_of_eight_strategies_hold_together_whatever_the_distribution(draw: Draw, prompts: int) -> None:
    dice = random.Random(4)
    held = 0
    for _ in range(150):
        columns = [{row: draw(dice) for row in range(prompts)} for _ in range(8)]
        found = median_intervals(columns)
        held += all(low is not None and high is not None and low <= 0 <= high for low, high in found)
    assert held >= 134  # 95 % would be 143, with a standard error of 2.7


def test_one_interval_is_as_good_as_its_word() -> None:
    dice = random.Random(4)
    held = 0
    for _ in range(200):
        low, high = median_interval([dice.lognormvariate(0.5, 0.3) for _ in range(25)])
        assert low is not None and high is not None
        held += low <= 2.718281828**0.5 <= high
    assert 180 <= held <= 199


@pytest.mark.parametrize(("strategies", "prompts"), [(1, 6), (2, 6), (3, 7), (4, 7), (8, 8), (16, 9)])
def test_more_strategies_take_more_prompts_to_have_an_interval(strategies: int, prompts: int) -> None:
    assert fewest_rows(strategies) == prompts
    dice = random.Random(1)
    columns = [{row: dice.random() for row in range(prompts)} for _ in range(strategies)]
    assert all(low is not None for low, _ in median_intervals(columns))
    assert all(low is None for low, _ in median_intervals([dict(list(c.items())[:-1]) for c in columns]))


@pytest.mark.parametrize(("prompts", "seen"), [(8, "18 %"), (24, "10 %"), (100, "5 %"), (400, "2 %")])
def test_more_prompts_show_smaller_differences(prompts: int, seen: str) -> None:
    words = outlook(prompts, 1)
    assert f"differences of {seen} or more" in words and not are_too_few(prompts, 1)
    assert ("About 100 prompts show" in words) is (prompts < 100)


def test_prompts_that_give_no_interval_are_told_before_they_are_decoded() -> None:
    assert are_too_few(6, 7) and not are_too_few(6, 2) and not are_too_few(1, 0)
    assert "6 prompts are too few to settle anything: intervals of 7 strategies at once take at least 8" in outlook(
        6, 7
    )
    assert "1 prompt is too few to settle anything: an interval takes at least 6" in outlook(1, 1)


def test_strategies_that_always_agree_are_as_narrow_as_one_alone() -> None:
    dice = random.Random(2)
    column = {row: dice.random() for row in range(30)}
    assert set(median_intervals([column] * 8)) == {median_interval(column.values())}


def test_strategies_with_fewer_prompts_than_others_get_intervals_of_their_own() -> None:
    dice = random.Random(3)
    long, short = ({row: dice.random() for row in range(count)} for count in (40, 3))
    (low, high), none = median_intervals([long, short])
    assert low is not None and high is not None and 0 < high - low < 0.6
    assert none == (None, None)
    assert median_intervals([]) == [] and median_intervals([{}]) == [(None, None)]


def sample(strategy: str, prompt: int, speed: float) -> Sample:
    return Sample(
        strategy, str(prompt), "c", 0, 5, (1,) * 10, "", "length", 0, round(10e9 / speed), 10, 0, 0,
        1, 1, 1, 1, 1, (0, 1), (1,), (1,), Audit("identical"),
    )  # fmt: skip


def compared(*speeds: list[float]) -> tuple[list[dict[str, object]], list[Sample]]:
    """static:1, static:2 … with these speeds, prompt by prompt, against autoregressive's 100."""
    choices = [choose("autoregressive"), *(choose("static", {"lookahead": i + 1}) for i in range(len(speeds)))]
    samples = [sample("autoregressive", prompt, 100) for prompt in range(len(speeds[0]))]
    samples += [sample(f"static:{i + 1}", p, speed) for i, own in enumerate(speeds) for p, speed in enumerate(own)]
    return report(choices, {choice.label: "table" for choice in choices}, samples), samples


def ranked(*speeds: list[float]) -> Ranking:
    return ranking(*compared(*speeds))


def noisy(middle: float, spread: float, prompts: int, seed: int) -> list[float]:
    dice = random.Random(seed)
    return [middle * dice.lognormvariate(0, spread) for _ in range(prompts)]


def test_nothing_is_asked_for_where_all_is_settled() -> None:
    found = ranked(noisy(200, 0.02, 12, 1), noisy(150, 0.02, 12, 2))
    assert (found.leader, found.as_fast, found.more_prompts, found.sentence) == ("static:1", (), None, "")
    assert found.held_out == pytest.approx(2.0, abs=0.03)


def test_strategies_that_may_be_as_fast_are_named_with_what_would_tell_them_apart() -> None:
    found = ranked(noisy(200, 0.1, 16, 1), noisy(193, 0.1, 16, 2), noisy(150, 0.02, 16, 3))
    assert (found.leader, found.as_fast) == ("static:1", ("static:2",))
    assert found.sentence.startswith("static:2 may be as fast. About ")
    assert "more prompts like these would tell static:1 from static:2." in found.sentence


def test_as_many_prompts_as_were_asked_for_mostly_settle_it() -> None:
    settled, tried = 0, 0
    for seed in range(20):
        first = ranked(noisy(115, 0.3, 16, seed))
        if "show whether" in first.sentence and first.more_prompts:
            again = ranked(noisy(115, 0.3, 16 + first.more_prompts, 1000 + seed))
            tried += 1
            settled += again.sentence == ""
    assert tried >= 8
    assert settled >= tried / 2


def test_a_gain_that_is_not_shown_yet_names_the_prompts_it_takes() -> None:
    found = ranked(noisy(110, 0.4, 12, 3))
    assert found.more_prompts and found.sentence.startswith("About ")
    assert found.sentence.endswith("more prompts like these would show whether static:1 is faster than autoregressive.")


def test_a_difference_too_small_to_look_for_is_called_none() -> None:
    speeds = [95.0, 105.01] * 8
    assert ranked(speeds).sentence.startswith("More than 5,000 prompts like these would be needed to show whether")


def test_few_prompts_are_told_how_many_all_intervals_take() -> None:
    found = ranked(*([150.0 + i] * 7 for i in range(8)))
    assert found.sentence == "Intervals for 8 strategies at once take at least 8 prompts: run 1 more."


def test_the_leader_of_equals_is_flattered_and_held_out_it_is_not() -> None:
    flattered, honest, faster = [], [], 0
    for seed in range(60):
        rows, samples = compared(*(noisy(100, 0.25, 12, 100 * seed + i) for i in range(8)))
        found = ranking(rows, samples)
        leader = next(row for row in rows if row["label"] == found.leader)
        flattered.append(leader["speedup"]["median"])  # type: ignore[index]
        honest.append(found.held_out)
        faster += " times as fast as " in verdict(rows)
    assert statistics.median(flattered) > 1.08
    assert abs(statistics.median(honest) - 1) < 0.05
    assert faster <= 4


def test_nothing_is_ranked_where_nothing_ran() -> None:
    assert ranked([]) == Ranking()


def test_a_sure_gain_is_named_before_a_larger_one_that_may_be_none() -> None:
    sure, unsure = [120.0 + i for i in range(12)], [80.0, 70, 75, 190, 195, 180, 185, 200, 170, 60, 210, 65]
    rows, samples = compared(unsure, sure)
    assert rows[1]["speedup"]["median"] > rows[2]["speedup"]["median"]  # type: ignore[index]
    assert rows[1]["speedup"]["low"] < 1 < rows[2]["speedup"]["low"]  # type: ignore[index]
    assert verdict(rows).startswith("static:2 is 1.2")
    assert ranking(rows, samples).as_fast == ("static:1",)
