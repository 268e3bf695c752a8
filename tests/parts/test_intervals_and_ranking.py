import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoding.choice import Choice, choose
from decoding.core.load import ONE, Load
from decoding.measure.crossover import across_loads
from decoding.measure.definitions import DEFINITIONS
from decoding.measure.intervals import Column, Interval, fewest_rows, ratio_interval, ratio_intervals
from decoding.measure.percentiles import fewest, percentiles
from decoding.measure.sample import Audit, SampleResult
from decoding.measure.summary import ENDED, Stage, judge, report
from tests.kit.snapshot import assert_recorded

Draw = Callable[[random.Random], float]

NORMAL: Draw = lambda dice: dice.lognormvariate(0, 0.2)  # noqa: E731
HEAVY: Draw = lambda dice: 2.7 ** (0.15 * dice.gauss(0, 1) / dice.gammavariate(1, 1) ** 0.5)  # noqa: E731
SWAPPED: Draw = lambda dice: dice.lognormvariate(0, 0.05) * (3 if dice.random() < 0.05 else 1)  # noqa: E731
DISTRIBUTIONS = [HEAVY, SWAPPED]


def equals(dice: random.Random, draw: Draw, prompts: int, strategies: int) -> list[Column]:
    """Times of a baseline and of strategies that are truly as fast, on prompts of unlike length."""
    lengths = [dice.lognormvariate(0, 0.5) for _ in range(prompts)]
    return [{row: length * draw(dice) for row, length in enumerate(lengths)} for _ in range(strategies + 1)]


def misses(columns: Sequence[Column], planned: int = 0) -> bool:
    found = among(columns, [(0, other) for other in range(1, len(columns))], planned)
    return any(low is not None and high is not None and not low <= 1 <= high for low, high in found)


def among(columns: Sequence[Column], pairs: Sequence[tuple[int, int]], planned: int = 0) -> list[Interval]:
    return [*ratio_intervals(dict(enumerate(columns)), pairs, planned).values()]


@pytest.mark.parametrize("draw", DISTRIBUTIONS)
def test_intervals_of_eight_equal_strategies_hold_together_whatever_the_noise(draw: Draw) -> None:
    dice = random.Random(4)
    missed = sum(misses(equals(dice, draw, 8 + 16 * (number % 2), 8)) for number in range(100))
    assert missed <= 10  # 4 % would be 4, with a standard error of 2


@pytest.mark.parametrize("draw", DISTRIBUTIONS)
def test_intervals_hold_at_every_look_together(draw: Draw) -> None:
    dice, missed = random.Random(5), 0
    for _ in range(100):
        columns = equals(dice, draw, 40, 2)
        looks = ([{row: column[row] for row in range(rows)} for column in columns] for rows in range(6, 40))
        missed += any(misses(look, planned=40) for look in looks)
    assert missed <= 4  # 1 % would be 1


@pytest.mark.parametrize(("strategies", "prompts"), [(1, 6), (2, 6), (3, 7), (4, 7), (8, 8), (16, 9)])
def test_more_strategies_take_more_prompts_to_have_an_interval(strategies: int, prompts: int) -> None:
    assert fewest_rows(strategies) == prompts
    pairs = [(0, other) for other in range(1, strategies + 1)]
    columns = [{row: 1 + 0.01 * ((row * 7 + column) % 5) for row in range(prompts)} for column in range(strategies + 1)]
    assert all(low is not None for low, _ in among(columns, pairs))
    fewer = [dict(list(column.items())[:-1]) for column in columns]
    assert all(low is None for low, _ in among(fewer, pairs))


def test_an_interval_surrounds_its_ratio_and_is_that_of_the_inverse_turned_over() -> None:
    one, other = equals(random.Random(3), NORMAL, 20, 1)
    [(low, high), (under, over)] = among([one, other], [(0, 1), (1, 0)])
    assert low and high and under and over
    assert low < sum(one.values()) / sum(other.values()) < high
    assert (1 / high, 1 / low) == pytest.approx((under, over))
    assert ratio_intervals({}, []) == {} and ratio_interval([]) == (None, None)


def sample(
    strategy: str, prompt: int, speed: float, load: Load = ONE, outcome: Any = "identical", repeat: int = 0
) -> SampleResult:
    return SampleResult(
        strategy, str(prompt), "c", repeat, 5, (1,) * 10, "", "length", 0, round(10e9 / speed), 10, 0, 0,
        1, 1, 1, 1, 1, (0, 1), (1,), (1,), Audit(outcome), load=load,
    )  # fmt: skip


Speeds = Sequence[float | None]  # by prompt; None: it broke


def compared(
    *speeds: Speeds,
    load: Load = ONE,
    baseline: str = "autoregressive",
    stage: Stage = ENDED,
    base: Speeds = (),
    repeats: int = 1,
    outcomes: Mapping[str, str] = {},
    **asked: Any,
) -> dict[str, Any]:
    """static:1, static:2 … with these speeds, prompt by prompt, against autoregressive's 100."""
    plain = [choose("autoregressive"), *(choose("static", {"lookahead": i + 1}) for i in range(len(speeds)))]
    choices = [choice.at(load) for choice in plain]
    columns = zip(choices, [base or [100] * len(speeds[0]), *speeds], strict=True)
    samples = [
        sample(choice.label, prompt, speed, load, outcomes.get(choice.label, "identical"), repeat)
        for choice, own in columns
        for prompt, speed in enumerate(own)
        for repeat in range(repeats)
        if speed
    ]
    return found(choices, samples, baseline, stage, **asked)


def found(
    choices: Sequence[Choice], samples: Sequence[SampleResult], baseline: str, stage: Stage, **asked: Any
) -> dict[str, Any]:
    judged = judge(choices, samples, baseline, stage=stage, **asked)
    rows = report(choices, {choice.label: "table" for choice in choices}, samples, baseline, judged=judged)
    return {**across_loads(rows, judged), "rows": {row["label"]: row for row in rows}}


def noisy(middle: float, spread: float, prompts: int, seed: int) -> list[float]:
    dice = random.Random(seed)
    return [middle * dice.lognormvariate(0, spread) for _ in range(prompts)]


COPIES = [94.0, 95, 230, 60, 470, 480, 465, 60, 475, 95, 60, 94]  # on half of the prompts twice as fast as any other
STEADY = [140.0, 150, 160, 145, 155, 150, 148, 152, 146, 151, 149, 153]
SLOWER = [120.0, 131, 138, 125, 132, 128, 127, 133, 126, 130, 129, 131]
SURE, UNSURE = [120.0 + i for i in range(12)], [80.0, 70, 75, 390, 395, 380, 385, 400, 370, 60, 410, 65]
NEAR = noisy(200, 0.03, 30, 1), noisy(198, 0.03, 30, 2)
EQUAL = noisy(200, 0.03, 30, 2), noisy(200, 0.03, 30, 1), noisy(120, 0.03, 30, 3)
BUSY = "Other programs used 80 % of the 2 cores."


TWICE = {1: [200.0] * 12, 4: [200.0] * 12}
CROSSING = {1: [150.0] * 12, 4: [120.0] * 12, 8: [90.0, 110] * 6, 16: [80.0] * 12}


def at_loads(speeds: Mapping[int, Speeds], reading_ms: int = 0, **asked: Any) -> dict[str, Any]:
    """Copies with these speeds for so many users, prompt by prompt, against autoregressive's 100. Each first reads its
    prompt for so long."""
    choices = [choice.at(Load(n)) for n in speeds for choice in (choose("autoregressive"), choose("lookup"))]
    samples = [sample(c.label, p, 100, c.load) for c in choices[::2] for p in range(12)]
    for choice in choices[1::2]:
        for prompt, speed in enumerate(speeds[choice.load.concurrency]):
            copied = sample(choice.label, prompt, speed or 0, choice.load)
            samples.append(replace(copied, prefill_ns=reading_ms * 10**6))
    return found(choices, samples, "autoregressive", ENDED, **asked)


SCENES: dict[str, Callable[[], dict[str, Any]]] = {
    "all is settled": lambda: compared(noisy(200, 0.02, 12, 1), noisy(150, 0.02, 12, 2)),
    "one may be as fast": lambda: compared(noisy(200, 0.1, 16, 1), noisy(190, 0.1, 16, 2), noisy(150, 0.02, 16, 3)),
    "a difference that takes thousands of prompts": lambda: compared([95.0, 105.27] * 8),
    "a difference too small to look for": lambda: compared([99.9, 100.1001] * 3000),
    "too few prompts for 8 intervals": lambda: compared(*([150.0 + i] * 7 for i in range(8))),
    "no interval yet": lambda: compared(COPIES[:5], STEADY[:5]),
    "nothing ran": lambda: compared([]),
    "only the baseline": lambda: found([choose("autoregressive")], [], "autoregressive", ENDED),
    "a single prompt": lambda: compared([250.0]),
    "2 prompts that agree": lambda: compared([200.0] * 2),
    "5 prompts that agree": lambda: compared([200.0] * 5),
    "no strategy is shown to be faster": lambda: compared([90.0, 130, 80, 120, 95, 110]),
    "a strategy is exactly as fast": lambda: compared([100.0] * 8),
    "every strategy is slower": lambda: compared(noisy(80, 0.02, 12, 1), noisy(70, 0.02, 12, 2)),
    "a larger gain may be none": lambda: compared(UNSURE, SURE),
    **{f"the order over {baseline}": partial(compared, COPIES, STEADY, SLOWER, baseline=baseline)
       for baseline in ("autoregressive", "static:1", "static:3")},
    "one writes another text": lambda: compared([900.0] * 8, [150.0] * 8, outcomes={"static:1": "divergent"}),
    "all write it but for ties": lambda: compared([200.0] * 8, outcomes={"static:1": "tie"}),
    "texts were not compared": lambda: compared([200.0] * 8, outcomes={"static:1": "not_compared"}),
    "one broke on its two slowest prompts": lambda: compared([None, None, *[200.0] * 10], [50.0, 50, *[200.0] * 10]),
    "one broke on most prompts": lambda: compared([200.0, *[None] * 11], [150.0] * 12),
    **{f"{name} of 40 prompts": partial(compared, *NEAR, stage=stage)
       for name, stage in (("so far", Stage(40, is_over=False)), ("stopped", Stage(40)), ("the end", ENDED))},
    **{f"so far, in repeat {n} of 3": partial(compared, [200.0] * 8, repeats=n, stage=Stage(8, False, repeats=3))
       for n in (1, 2)},
    **{f"{name}, 4 at once": partial(compared, *EQUAL, load=Load(4), stage=stage)
       for name, stage in (("so far", Stage(40, is_over=False)), ("stopped", Stage(40)), ("the end", ENDED))},
    "stopped, and one is shown to be ahead": lambda: compared(
        noisy(200, 0.02, 30, 1), noisy(150, 0.02, 30, 2), stage=Stage(40)),
    **{f"an open loop, {n} times": partial(compared, noisy(150, 0.1, 24, 1), load=Load(rate=2.0), repeats=n)
       for n in (1, 6)},
    "others used the machine": lambda: compared([200.0] * 12, noises=[BUSY]),
    "others used the machine at two loads": partial(at_loads, TWICE, noises=[BUSY]),
    "two loads": partial(at_loads, TWICE),
    "two loads, and whole requests are slower": partial(at_loads, TWICE, 60),  # they alone decide under load
    "four loads, and at one nothing is settled": partial(at_loads, CROSSING),
}  # fmt: skip


def spoken(of: dict[str, Any]) -> dict[str, Any]:
    """Return what a page says about a comparison."""
    of_load, of_ranking = ("verdict", "doubt", "fastest"), ("leader", "as_fast", "more_prompts", "sentence")
    loads = [
        {name: load[name] for name in of_load} | {name: load["ranking"][name] for name in of_ranking}
        for load in of["loads"]
    ]
    speedups = {
        label: [row["speedup"]["prompts"], *map(rounded, map(row["speedup"].get, ("ratio", "low", "high")))]
        for label, row in of["rows"].items()
        if row["speedup"]
    }
    crossings = [[each["gain_until"], each["loss_from"], rounded(each["at"])] for each in of["crossovers"]]
    said = {name: of[name] for name in ("sentence", "verdict", "doubt")}
    return said | {"loads": loads, "speedups": speedups} | ({"crossovers": crossings} if crossings else {})


def rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def test_what_is_said_of_a_comparison_is_what_was_recorded() -> None:
    """Review each sentence in verdicts.json as its readers would."""
    assert_recorded(
        {name: spoken(scene()) for name, scene in SCENES.items()}, Path(__file__).with_name("verdicts.json")
    )


def test_the_leader_of_equals_is_seldom_called_faster() -> None:
    faster = 0
    for seed in range(15):
        base = noisy(100, 0.25, 12, 7000 + seed)
        found = compared(*(noisy(100, 0.25, 12, 100 * seed + i) for i in range(8)), base=base)
        faster += " times as fast as " in found["loads"][0]["verdict"]
    assert faster <= 2


def test_a_speedup_is_of_the_total_times_and_the_median_of_prompts_stands_beside_it() -> None:
    gain = compared([150.0, 20], base=[100, 10])["rows"]["static:1"]["speedup"]
    assert (gain["ratio"], gain["median"]) == pytest.approx(((1 / 100 + 1 / 10) / (1 / 150 + 1 / 20), 1.75))


def test_end_to_end_counts_the_reading_of_the_prompt_too_and_each_number_has_a_definition() -> None:
    samples = [
        replace(sample(label, 0, speed), prefill_ns=reading_ms * 10**6)
        for label, speed, reading_ms in (("autoregressive", 100, 100), ("static:4", 200, 140))
    ]
    row = found([choose("autoregressive"), choose("static")], samples, "autoregressive", ENDED)["rows"]["static:4"]
    assert (row["speedup"]["ratio"], row["prefill_ms"]) == pytest.approx((2.0, 140.0))
    assert row["end_to_end"]["ratio"] == pytest.approx((100 + 100) / (140 + 50))
    assert set(row) - {"strategy", "label", "params", "role", "runner", "samples"} == set(DEFINITIONS)
    assert (row["num_draft_tokens"], row["mean_acceptance_length"], row["acceptance_histogram"]) == (1, 2.0, [0, 1])


def test_bounds_are_never_ranked() -> None:
    speeds = {"autoregressive": 100, "oracle:32": 900, "static:4": 125}
    samples = [sample(label, prompt, speed) for label, speed in speeds.items() for prompt in range(3)]
    choices = [choose("autoregressive"), choose("oracle"), choose("static")]
    assert found(choices, samples, "autoregressive", ENDED)["verdict"].startswith("static:4")


@pytest.mark.parametrize(("strategy", "text", "is_told"), [
    ("lookup", (7,) * 40, True), ("lookup", range(40), False), ("static", (7,) * 40, False),
])  # fmt: skip
def test_a_text_that_repeats_itself_is_told_where_copies_gain_by_it(
    strategy: str, text: Sequence[int], is_told: bool
) -> None:
    choices = [choose("autoregressive"), choose(strategy)]
    samples = [replace(sample(choice.label, 0, 100), tokens=tuple(text)) for choice in choices]
    doubt = found(choices, samples, "autoregressive", ENDED)["doubt"]
    assert ("97 % of the text repeats itself" in doubt) == is_told


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
