"""Measure how often a comparison's intervals hold, and which differences it shows, with the code that makes verdicts.

    ./drafthouse bench coverage [--only TEXT] [--draws 200] [--json FILE]    simulated
    ./drafthouse bench coverage --run FILE [--draws 200]                     prompts of a run: `compare --json FILE`

`--only "24 prompts"` prints the lines whose name has this text. Each line has its own seed.

Equals: 8 strategies that are truly as fast as the baseline. "together": no interval misses at the end. "looks": nor at
any look before. "faster": a verdict says that one is faster. "slower": an interval says that one is slower. "apart":
one is named as the fastest. A slow machine is slow for many samples in a row, in the order of the schedule.

Limits: the same where the intervals promise less. On some prompts only strategies take far longer; a strategy's noise
on a prompt is like that on the prompt before; four requests share every pass of a machine whose pace changes by that
much within some 300 passes.

Power: the first of 1 or of 8 strategies is truly faster than all others. Printed is the least gain that 3 of 4 draws
show: of one strategy, of the best of eight, and over the next best (it is named as the fastest).

A run: prompts drawn from it, with its ratios over all prompts as the truth. If it has one strategy and at least 3
repeats, its repeats stand for strategies that are as fast.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from decoding.choice import Choice, choose
from decoding.core.load import ONE, Load
from decoding.measure.crossover import across_loads, load_of
from decoding.measure.sample import Audit, SampleResult, sample_from_dict
from decoding.measure.schedule import blocks, strategy_order
from decoding.measure.speedups import Race, Speedup, races, speedups
from decoding.measure.summary import RaceResults, baselines, judge, report
from decoding.prompts.prompt import PromptItem

STRATEGIES = 8
PROMPTS = (8, 12, 24, 100)
DRAWN = (8, 12, 24, 48, 100)  # prompts of power and of a run
BAR = (0.95, 0.98)  # a share of 200 draws is uncertain by 1.5 points
MOST_FALSE = 0.025  # on each side
GAINS = (1.03, 1.05, 1.1, 1.2)
SPREADS = (0.08, 0.2)  # of the logarithms of speed-ups, from prompt to prompt
SHOWN = 0.75  # of the draws
NOISE = 0.2
USERS = 4

Columns = list[list[float]]  # seconds by choice and prompt
World = Callable[[Sequence[float], random.Random], Columns]
LOADS = {1: [ONE], 3: [ONE, Load(2), Load(4)]}
CHOICES = [choose("autoregressive"), *(choose("static", {"lookahead": n}) for n in range(1, STRATEGIES + 1))]
COLUMNS = ("together", "looks", "faster", "slower", "apart")


def independent(factor: Callable[[random.Random], float]) -> World:
    return lambda lengths, dice: [[length * factor(dice) for length in lengths] for _ in CHOICES]


def noise(alike: float, dice: random.Random, size: float = NOISE) -> Iterator[float]:
    """Yield factors of which each is correlated with the one before."""
    at = dice.gauss(0, size)
    while True:
        yield math.exp(at)
        at = alike * at + math.sqrt(1 - alike * alike) * dice.gauss(0, size)


def slow_machine(lengths: Sequence[float], dice: random.Random) -> Columns:
    found, factor = [[0.0] * len(lengths) for _ in CHOICES], noise(0.95, dice)
    for prompt, length in enumerate(lengths):
        for number in strategy_order(len(CHOICES), prompt):
            found[number][prompt] = length * next(factor)
    return found


def neighbours(alike: float) -> World:
    return lambda lengths, dice: [
        [length * factor for length, factor in zip(lengths, noise(alike, dice), strict=False)] for _ in CHOICES
    ]


def closed_loop(size: float) -> World:
    """Four users who share every pass, of a machine whose pace changes by so much within some 300 passes."""

    def world(lengths: Sequence[float], dice: random.Random) -> Columns:
        found, pace = [[0.0] * len(lengths) for _ in CHOICES], noise(math.exp(-1 / 300), dice, size)
        prompts = [PromptItem(str(number), "") for number in range(len(lengths))]
        for place, block in enumerate(blocks(prompts, Load(USERS))):
            for number in strategy_order(len(CHOICES), place):
                for prompt, seconds in stint([int(one.id) for one in block], lengths, pace, dice):
                    found[number][prompt] = seconds
        return found

    return world


def stint(
    prompts: Sequence[int], lengths: Sequence[float], pace: Iterator[float], dice: random.Random
) -> Iterator[tuple[int, float]]:
    """Yield seconds of each request of a block, as it is answered. Others keep the machine full before and after it."""
    due, now = [-1] * USERS + [*prompts], 0.0
    running: list[list[float]] = []  # number, passes left, begun
    left = len(prompts)
    while left:
        while len(running) < USERS:
            number = due.pop(0) if due else -1
            length = lengths[number] if number >= 0 else dice.lognormvariate(0, 0.5)
            running.append([number, round(20 * length * dice.lognormvariate(0, NOISE)) + 1, now])
        now += next(pace)
        for request in running:
            request[1] -= 1
        done = [int(number) for number, passes, _ in running if not passes]
        begun = {int(number): since for number, _, since in running}
        yield from ((number, now - begun[number]) for number in done if number >= 0)
        left -= sum(number >= 0 for number in done)
        running = [request for request in running if request[1]]


def only_strategies_skewed(lengths: Sequence[float], dice: random.Random) -> Columns:
    return [[*lengths], *([length * dice.expovariate(1) for length in lengths] for _ in range(STRATEGIES))]


EQUALS: dict[str, World] = {
    "normal": independent(lambda dice: dice.lognormvariate(0, NOISE)),
    "heavy tails (t, 2 degrees)": independent(
        lambda dice: math.exp(0.15 * dice.gauss(0, 1) / math.sqrt(dice.gammavariate(1, 1)))
    ),
    "skewed (exponential)": independent(lambda dice: 1 + 0.2 * dice.expovariate(1)),
    "5 % take 3 times": independent(lambda dice: dice.lognormvariate(0, 0.05) * (3 if dice.random() < 0.05 else 1)),
    "slow machine": slow_machine,
    "closed loop": closed_loop(0.0),
}
LIMITS: dict[str, World] = {
    "limit: strategies skewed": only_strategies_skewed,
    **{f"limit: neighbours alike {alike}": neighbours(alike) for alike in (0.1, 0.3, 0.5)},
    **{f"limit: closed loop, pace {size}": closed_loop(size) for size in (0.02, 0.05, 0.1)},
}


def main() -> None:
    asked = arguments()
    found = of_run(json.loads(asked.run.read_text()), asked.draws) if asked.run else simulated(asked.only, asked.draws)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    if not found["holds"]:
        sys.exit("A bar is broken.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench coverage", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="lines whose name has this text")
    parser.add_argument("--draws", type=int, default=200, help="comparisons per cell of the tables")
    parser.add_argument("--run", type=Path, metavar="FILE", help="draw prompts from what compare --json wrote")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def simulated(only: str, draws: int) -> dict[str, Any]:
    equals = {f"{name}, 1 load, {n} prompts": (world, 1, n) for name, world in EQUALS.items() for n in PROMPTS}
    equals |= {f"{name}, 3 loads, {n} prompts": (world, 3, n) for name, world in [*EQUALS.items()][:4] for n in PROMPTS}
    limits = {f"{name}, {n} prompts": (world, 1, n) for name, world in LIMITS.items() for n in PROMPTS[1:]}
    power = {f"power, spread {spread}, {n} prompts": (spread, n) for spread in SPREADS for n in DRAWN}
    lines = table({name: asked for name, asked in (equals | limits).items() if only in name}, draws)
    told = {name: power_line(name, *asked, draws) for name, asked in power.items() if only in name}
    over_all = mean_of([line for name, line in lines.items() if name in equals])
    if over_all:
        print(row("all equals", over_all))
    sides = max(over_all.get(side, 0.0) for side in ("faster", "slower"))
    holds = bool(only) or (BAR[0] <= over_all["looks"] <= BAR[1] and sides <= MOST_FALSE)  # a few lines are too few
    return {"draws": draws, "lines": lines, "all": over_all, "power": told, "holds": holds}


def table(asked: Mapping[str, tuple[World, int, int]], draws: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, (world, loads, prompts) in asked.items():
        dice = random.Random(name)
        told = [outcome(equal_samples(world, LOADS[loads], prompts, dice)) for _ in range(draws)]
        found[name] = mean_of(told)
        print(row(name, found[name]), flush=True)
    return found


def row(name: str, line: Mapping[str, float]) -> str:
    return f"{name:40}" + "".join(f" {key.replace('_', ' ')} {line[key]:5.3f} " for key in COLUMNS)


def mean_of(told: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not told:
        return {}
    return {key: statistics.mean(each[key] for each in told) for key in COLUMNS}


def equal_samples(world: World, loads: Sequence[Load], prompts: int, dice: random.Random) -> list[SampleResult]:
    """Draw every sample. Prompts are of unlike length."""
    lengths = [dice.lognormvariate(0, 0.5) for _ in range(prompts)]
    return [sample for load in loads for sample in samples_of(world(lengths, dice), load)]


def samples_of(columns: Columns, load: Load = ONE) -> list[SampleResult]:
    choices = [choice.at(load) for choice in CHOICES[: len(columns)]]
    return [
        sample(choice, prompt, seconds)
        for choice, column in zip(choices, columns, strict=True)
        for prompt, seconds in enumerate(column)
    ]


def sample(choice: Choice, prompt: int, seconds: float) -> SampleResult:
    found = SampleResult(
        choice.label, str(prompt), "", 0, 1, (1,), "", "length", 0, round(1e15 * seconds), 1, 0, 0, 1, 0, 0, 0, 0, (),
        (), (), Audit("identical"),
    )  # fmt: skip
    return dataclasses.replace(found, load=choice.load)


def verdicts(samples: Sequence[SampleResult]) -> tuple[RaceResults, list[dict[str, Any]]]:
    """Judge a comparison, by the code that judges every comparison."""
    labels = {sample.strategy: sample.load for sample in samples}
    known = {choice.at(load).label: choice.at(load) for choice in CHOICES for load in labels.values()}
    choices = [known[label] for label in labels]
    judged = judge(choices, samples)
    rows = report(choices, dict.fromkeys(labels, "simulated"), samples, judged=judged)
    return judged, across_loads(rows, judged)["loads"]


def outcome(samples: Sequence[SampleResult]) -> dict[str, Any]:
    judged, loads = verdicts(samples)
    is_missed = any(map(misses, judged.gains.values()))
    return {
        "together": not is_missed,
        "looks": not is_missed and not missed_before(judged),
        **claims(loads),
        "slower": any(gain and gain.high and gain.high < 1 for gain in judged.gains.values()),
    }


def claims(loads: Sequence[Mapping[str, Any]]) -> dict[str, bool]:
    return {
        "faster": any(" times as fast as " in load["verdict"] for load in loads),
        "apart": any(load["fastest"] for load in loads),
    }


def misses(gain: Speedup | None, truth: float = 1.0) -> bool:
    return gain is not None and gain.low is not None and gain.high is not None and not gain.low <= truth <= gain.high


def missed_before(judged: RaceResults) -> bool:
    """Whether an interval misses at some look before the end."""
    prompts = [[*next(iter(race.times.values()))] for race in judged.races]
    planned = max(map(len, prompts))
    looks = (
        [cut_to(race, own[:done]) for race, own in zip(judged.races, prompts, strict=True)]
        for done in range(1, planned)
    )
    return any(any(map(misses, speedups(look, judged.base, planned).values())) for look in looks)


def cut_to(race: Race, prompts: Sequence[str]) -> Race:
    """The same race on some of its prompts."""
    times = {label: {prompt: own[prompt] for prompt in prompts} for label, own in race.times.items()}
    return Race(race.load, times, len(prompts))


def power_line(name: str, spread: float, prompts: int, draws: int) -> dict[str, float | None]:
    """Find the least gain that is shown often enough: of one strategy, of the best of eight, and over the next best."""
    found: dict[str, float | None] = {"one": None, "best": None, "next": None}
    for gain in GAINS:
        dice = random.Random(f"{name} {gain}")
        alone, among = (shares_shown(gain, spread, prompts, count, draws, dice) for count in (1, STRATEGIES))
        shares = {"one": alone["faster"], "best": among["faster"], "next": among["apart"]}
        found |= {key: gain for key, share in shares.items() if share >= SHOWN and not found[key]}
        if all(found.values()):
            break
    print(f"{name:40}", *(f"{key} {f'{gain - 1:.0%}' if gain else '–':>4} " for key, gain in found.items()), flush=True)
    return found


def shares_shown(
    gain: float, spread: float, prompts: int, strategies: int, draws: int, dice: random.Random
) -> dict[str, float]:
    """Shares of draws that show the gain of the first strategy, which alone is faster than the baseline."""
    told = []
    for _ in range(draws):
        base = [dice.lognormvariate(0, 0.5) for _ in range(prompts)]
        factors = [1 / gain, *[1.0] * (strategies - 1)]
        columns = [[n * f * dice.lognormvariate(-spread * spread / 2, spread) for n in base] for f in factors]
        told.append(claims(verdicts(samples_of([base, *columns]))[1]))
    return {key: statistics.mean(each[key] for each in told) for key in told[0]}


def of_run(document: Mapping[str, Any], draws: int) -> dict[str, Any]:
    rows = [row for row in document["strategies"] if row["samples"]]
    choices = [Choice(row["strategy"], row["params"], load_of(row)) for row in rows]
    samples = {c.label: [*map(sample_from_dict, row["samples"])] for c, row in zip(choices, rows, strict=True)}
    if len(rows) == 1:
        return against_itself(samples[choices[0].label], draws)
    every, base = races(choices, samples), baselines(choices, document["baseline"])
    truth = {label: race.ratio(label, base[race.load]) for race in every for label in race.times}
    print(f"true ratios {min(truth.values()):.2f} to {max(truth.values()):.2f} on {every[0].prompts} prompts")
    held = {n: share_held(every, base, truth, n, draws) for n in DRAWN}
    return {"draws": draws, "truth": truth, "held": held, "holds": statistics.mean(held.values()) >= BAR[0]}


def share_held(
    every: Sequence[Race], base: Mapping[Load, str], truth: Mapping[str, float], prompts: int, draws: int
) -> float:
    """Draw prompts, some of them twice, and say how often all intervals hold the ratios over all prompts."""
    dice, held, units = random.Random(prompts), 0, [*next(iter(every[0].times.values()))]
    for _ in range(draws):
        drawn = [*enumerate(dice.choices(units, k=prompts))]
        columns = [{label: {str(n): own[u] for n, u in drawn} for label, own in race.times.items()} for race in every]
        again = [Race(race.load, times, prompts) for race, times in zip(every, columns, strict=True)]
        held += not any(misses(gain, truth[label]) for label, gain in speedups(again, base).items())
    print(f"{prompts:4} prompts: all intervals hold in {held / draws:.3f}", flush=True)
    return held / draws


def against_itself(samples: Sequence[SampleResult], draws: int) -> dict[str, Any]:
    by_prompt: dict[str, list[float]] = {}
    for one in samples:
        by_prompt.setdefault(one.prompt, []).append(1 / one.tokens_per_s)
    lines = {}
    for prompts in (n for n in DRAWN if n <= len(by_prompt)):
        dice = random.Random(prompts)
        shuffled = (
            [dice.sample(times, len(times))[: len(CHOICES)] for times in dice.sample([*by_prompt.values()], prompts)]
            for _ in range(draws)
        )
        lines[str(prompts)] = mean_of([outcome(samples_of([*map(list, zip(*each, strict=True))])) for each in shuffled])
        print(row(f"repeats of a run, {prompts} prompts", lines[str(prompts)]), flush=True)
    is_fair = all(line[side] <= 2 * MOST_FALSE for line in lines.values() for side in ("faster", "slower"))
    return {"draws": draws, "lines": lines, "holds": is_fair}


if __name__ == "__main__":
    main()
