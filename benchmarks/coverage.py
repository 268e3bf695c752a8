"""Measure how often a comparison's intervals hold, and how often it claims a difference where there is none.

    ./drafthouse bench coverage [--draws 200] [--json FILE]     simulated, with the code that makes verdicts
    ./drafthouse bench coverage --real [--comparisons 100]       the starter pair against itself

Simulated: 8 strategies that are truly as fast as the baseline, at one load or at three. "together": no interval misses.
"looks": none misses at any look either, before the end or at it. "faster": the verdict of some load says that one is
faster. "apart": some load names a strategy as shown to be the fastest. "held out": the median of that figure, whose
true value is 1. A closed loop decodes four requests at once, which share every pass and its noise.

Real: autoregressive decodes every prompt nine times. Eight of the nine stand for strategies, the ninth for the
baseline, on 12 prompts drawn anew for each comparison.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from decoding.load import ONE, Load
from decoding.measure.crossover import across_loads
from decoding.measure.intervals import ratio_intervals
from decoding.measure.sample import Audit, Sample
from decoding.measure.summary import Judged, judge, report
from decoding.prompts.prompt import read_prompts
from decoding.spec import Choice, Sampling, choose

STARTER = Path(__file__).parents[1] / "starter"
STRATEGIES = 8
REAL_PROMPTS = 240
PROMPTS = (8, 12, 24, 100)
BAR = (0.95, 0.98)  # a share of 200 draws is uncertain by 1.5 points
MOST_FALSE = 0.05
USERS = 4
LOOKS = 8  # before the end

Draw = Callable[[random.Random], float]
WORLDS: dict[str, Draw] = {  # factors of a sample's time
    "normal": lambda dice: dice.lognormvariate(0, 0.2),
    "heavy tails (t, 2 degrees)": lambda dice: math.exp(0.15 * dice.gauss(0, 1) / math.sqrt(dice.gammavariate(1, 1))),
    "skewed (exponential)": lambda dice: 1 + 0.2 * dice.expovariate(1),
    "5 % of samples take 3 times": lambda dice: dice.lognormvariate(0, 0.05) * (3 if dice.random() < 0.05 else 1),
}
LOADS = {1: [ONE], 3: [ONE, Load(2), Load(4)]}
CHOICES = [choose("autoregressive"), *(choose("static", {"lookahead": n}) for n in range(1, STRATEGIES + 1))]


def main() -> None:
    asked = arguments()
    found = real(asked.comparisons) if asked.real else simulated(asked.draws)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    if not found["holds"]:
        sys.exit("A bar is broken.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench coverage", description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200, help="comparisons per line of the table")
    parser.add_argument("--real", action="store_true", help="decode with the starter pair instead of drawing")
    parser.add_argument("--comparisons", type=int, default=100, help="with --real")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def simulated(draws: int) -> dict[str, Any]:
    names = ("together", "looks", "faster", "apart", "held_out")
    print(
        f"{'distribution':28} {'loads':>5} {'prompts':>7}" + "".join(f" {name.replace('_', ' '):>9}" for name in names)
    )
    asked = [(name, loads, prompts) for name in WORLDS for loads in LOADS for prompts in PROMPTS]
    asked += [("closed loop", 1, prompts) for prompts in PROMPTS[1:]]
    lines = []
    for name, loads, prompts in asked:
        row = line(name, loads, prompts, draws)
        lines.append(row)
        print(f"{name:28} {loads:5} {prompts:7}" + "".join(f" {row[name]:9.3f}" for name in names), flush=True)
    over_all = {name: statistics.mean(row[name] for row in lines) for name in names}
    print("\nall lines:", ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in over_all.items()))
    holds = BAR[0] <= over_all["looks"] <= BAR[1] and over_all["faster"] <= MOST_FALSE / 2
    return {"draws": draws, "lines": lines, "all": over_all, "holds": holds}


def line(name: str, loads: int, prompts: int, draws: int) -> dict[str, Any]:
    dice = random.Random(f"{name} {loads} {prompts}")
    told = [outcome(drawn(name, LOADS[loads], prompts, dice)) for _ in range(draws)]
    held_out = [each.pop("held_out") for each in told]
    shares = {key: statistics.mean(each[key] for each in told) for key in told[0]}
    known = [each for each in held_out if each is not None]
    return {
        "distribution": name,
        "loads": loads,
        "prompts": prompts,
        **shares,
        "held_out": statistics.median(known or [math.nan]),
    }


def drawn(name: str, loads: Sequence[Load], prompts: int, dice: random.Random) -> list[Sample]:
    """Draw every sample. Prompts are of unlike length."""
    lengths = [dice.lognormvariate(0, 0.5) for _ in range(prompts)]
    samples = []
    for choice in (choice.at(load) for load in loads for choice in CHOICES):
        seconds = shared(lengths, dice) if name == "closed loop" else [n * WORLDS[name](dice) for n in lengths]
        samples += [sample(choice, prompt, 1 / time) for prompt, time in enumerate(seconds)]
    return samples


def shared(lengths: Sequence[float], dice: random.Random) -> list[float]:
    """Seconds of each request of users who ask again as soon as they are answered. All share every pass."""
    waiting, now, noise = list(enumerate(lengths)), 0.0, 0.0
    running: list[list[float]] = []  # number, passes left, begun
    found = [0.0] * len(lengths)
    while waiting or running:
        while waiting and len(running) < USERS:
            number, length = waiting.pop(0)
            running.append([number, round(20 * length * dice.lognormvariate(0, 0.2)) + 1, now])
        noise = 0.9 * noise + dice.gauss(0, 0.1)
        now += (1 + 0.2 * len(running)) * math.exp(noise)
        for request in running:
            request[1] -= 1
            if not request[1]:
                found[int(request[0])] = now - request[2]
        running = [request for request in running if request[1]]
    return found


def outcome(samples: Sequence[Sample]) -> dict[str, Any]:
    """Judge a comparison, by the code that judges every comparison."""
    choices = list({s.strategy: next(c for c in CHOICES if c.settings == s.strategy.split(" ")[0]).at(s.load)
                    for s in samples}.values())  # fmt: skip
    judged = judge(choices, samples)
    rows = report(choices, {choice.label: "simulated" for choice in choices}, samples, judged=judged)
    loads = across_loads(rows, judged)["loads"]
    missed = any(misses(gain.low, gain.high) for gain in judged.gains.values() if gain)
    return {
        "together": float(not missed),
        "looks": float(not missed and not missed_before(judged)),
        "faster": float(any(" times as fast as " in load["verdict"] for load in loads)),
        "apart": float(any(load["fastest"] for load in loads)),
        "held_out": loads[0]["ranking"]["held_out"],
    }


def misses(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= 1 <= high


def missed_before(judged: Judged) -> bool:
    """Whether an interval misses at some look before the end."""
    columns = [times for race in judged.races for times in race.times.values()]
    count = len(columns) // len(judged.races)
    pairs = [(count * load, count * load + other) for load in range(len(judged.races)) for other in range(1, count)]
    rows = [*columns[0]]
    for rest in range(1, LOOKS + 1):
        done = rows[: len(rows) * (LOOKS + 1 - rest) // (LOOKS + 1)]
        look = [{row: column[row] for row in done} for column in columns]
        if done and any(misses(*interval) for interval in ratio_intervals(look, pairs, len(rows))):
            return True
    return False


def sample(choice: Choice, prompt: int, speed: float) -> Sample:
    found = Sample(
        choice.label, str(prompt), "", 0, 1, (1,), "", "length", 0, round(1e15 / speed), 1, 0, 0, 1, 0, 0, 0, 0, (), (),
        (), Audit("identical"),
    )  # fmt: skip
    return dataclasses.replace(found, load=choice.load)


def real(comparisons: int) -> dict[str, Any]:
    speeds = [[one.tokens_per_s for one in times] for times in decoded()]
    dice, told = random.Random(1), []
    for _ in range(comparisons):
        prompts = dice.sample(speeds, 12)
        shuffled = [dice.sample(times, STRATEGIES + 1) for times in prompts]
        told.append(outcome([
            sample(choice, prompt, times[number])
            for number, choice in enumerate(CHOICES)
            for prompt, times in enumerate(shuffled)
        ]))  # fmt: skip
    faster = sum(each["faster"] for each in told)
    together = sum(each["together"] for each in told)
    print(f"{comparisons} comparisons of the starter target with itself, 12 prompts, {STRATEGIES} strategies:")
    print(f"all intervals hold 1 in {together}, one is called faster in {faster}")
    return {
        "comparisons": comparisons, "together": together, "faster": faster, "holds": faster <= MOST_FALSE * comparisons
    }  # fmt: skip


def decoded() -> list[list[Sample]]:
    """Decode every prompt of the starter pair nine times in a row by autoregressive, 24 tokens each."""
    import torch

    from decoding.measure.comparison import Comparison
    from decoding.measure.schedule import Key
    from decoding.models.checkpoints import load
    from decoding.models.devices import set_threads
    from decoding.pair import Pair

    set_threads(1)
    target, draft = (load(STARTER / "pair" / name) for name in ("target", "draft"))
    pair = Pair(target.runner, draft.runner, target.tokenizer, frozenset(), torch.float32)
    prompts = [
        prompt
        for name in ("code", "prose")
        for prompt in read_prompts((STARTER / "prompts" / f"{name}.jsonl").read_text(), f"{name}.jsonl")
    ][:REAL_PROMPTS]
    comparison = Comparison(pair, prompts, CHOICES[:1], Sampling(max_new_tokens=24))
    comparison.warm_up()
    return [[comparison.sample(Key(CHOICES[0], p, i)) for i in range(STRATEGIES + 1)] for p in prompts]


if __name__ == "__main__":
    main()
