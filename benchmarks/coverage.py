"""Measure how often a comparison's intervals hold, and how often it claims a difference where there is none.

    ./drafthouse bench coverage [--draws 400] [--json FILE]     simulated, with the code that makes verdicts
    ./drafthouse bench coverage --real [--comparisons 100]       the starter pair against itself

Simulated: 8 strategies whose true speed-up is 1. "together": no interval misses. "faster": the verdict says that one is
faster. "leader" and "held out": the median of both figures, whose true value is 1.

Real: autoregressive decodes every prompt nine times. Eight of the nine stand for strategies, the ninth for the
baseline, on 12 prompts drawn anew for each comparison.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from decoding.measure.ranking import ranking
from decoding.measure.sample import Audit, Sample
from decoding.measure.summary import report
from decoding.measure.verdict import verdict
from decoding.prompts.prompt import read_prompts
from decoding.spec import Choice, Sampling, choose

STARTER = Path(__file__).parents[1] / "starter"
STRATEGIES = 8
REAL_PROMPTS = 240
PROMPTS = (6, 8, 12, 24, 100)
HELD_TO_THE_BAR = (8, 12, 24, 100)
BAR = (0.93, 0.97)
MOST_FALSE = 0.05

Draw = Callable[[random.Random], float]
WORLDS: dict[str, Draw] = {  # logarithms of a prompt's ratio, with median 0
    "normal": lambda dice: dice.gauss(0, 0.25),
    "heavy tails (t, 2 degrees)": lambda dice: 0.15 * dice.gauss(0, 1) / math.sqrt(dice.gammavariate(1, 1)),
    "skewed (exponential)": lambda dice: dice.expovariate(4) - math.log(2) / 4,
    "8 % swapped-out prompts": lambda dice: dice.gauss(0, 0.15) + 0.0164 - (dice.random() < 0.08),
    "two kinds of prompts": lambda dice: dice.choice((-0.3, 0.3)) + dice.gauss(0, 0.05),
}
CHOICES = [choose("autoregressive"), *(choose("static", {"lookahead": n}) for n in range(1, STRATEGIES + 1))]
RUNNERS = {choice.label: "simulated" for choice in CHOICES}


def main() -> None:
    asked = arguments()
    found = real(asked.comparisons) if asked.real else simulated(asked.draws)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    if not found["holds"]:
        sys.exit("A bar is broken.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench coverage", description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400, help="comparisons per line of the table")
    parser.add_argument("--real", action="store_true", help="decode with the starter pair instead of drawing")
    parser.add_argument("--comparisons", type=int, default=100, help="with --real")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def simulated(draws: int) -> dict[str, Any]:
    print(
        f"{'distribution':28} {'alike':>5} {'prompts':>7} {'together':>9} {'faster':>7} {'leader':>7} {'held out':>9}"
    )
    lines = [line(name, alike, prompts, draws) for name in WORLDS for alike in (0.0, 0.8) for prompts in PROMPTS]
    together = {
        n: statistics.mean(row["together"] for row in lines if row["prompts"] == n and not row["alike"])
        for n in HELD_TO_THE_BAR
    }
    print("\nall distributions, strategies unlike:", ", ".join(f"{n} prompts {v:.3f}" for n, v in together.items()))
    holds = all(BAR[0] <= v <= BAR[1] for v in together.values()) and all(r["faster"] <= MOST_FALSE for r in lines)
    return {"draws": draws, "lines": lines, "together": together, "holds": holds}


def line(name: str, alike: float, prompts: int, draws: int) -> dict[str, Any]:
    dice = random.Random(f"{name} {alike} {prompts}")
    told = [outcome(drawn(WORLDS[name], alike, prompts, dice)) for _ in range(draws)]
    given = [each for each in told if each["together"] is not None]
    row = {
        "distribution": name,
        "alike": alike,
        "prompts": prompts,
        "together": statistics.mean(each["together"] for each in given) if given else None,
        "faster": statistics.mean(each["faster"] for each in told),
        "leader": statistics.median(each["leader"] for each in told),
        "held_out": statistics.median(each["held_out"] for each in given) if given else None,
    }
    together, held_out = (f"{v:.3f}" if v is not None else "none" for v in (row["together"], row["held_out"]))
    words = f"{name:28} {alike:5.1f} {prompts:7} {together:>9} {row['faster']:7.3f} {row['leader']:7.3f} {held_out:>9}"
    print(words, flush=True)
    return row


def drawn(draw: Draw, alike: float, prompts: int, dice: random.Random) -> list[list[float]]:
    """Draw each strategy's ratios over prompts. With probability `alike` a strategy takes the value that all share on
    that prompt."""
    shared = [draw(dice) for _ in range(prompts)]
    return [[math.exp(common if dice.random() < alike else draw(dice)) for common in shared] for _ in range(STRATEGIES)]


def outcome(columns: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Judge a comparison with these ratios, by the code that judges every comparison."""
    samples = [sample(CHOICES[0], prompt, 1.0) for prompt in range(len(columns[0]))]
    for choice, column in zip(CHOICES[1:], columns, strict=True):
        samples += [sample(choice, prompt, ratio) for prompt, ratio in enumerate(column)]
    return judged(samples)


def judged(samples: Sequence[Sample]) -> dict[str, Any]:
    rows = report(CHOICES, RUNNERS, samples)
    gains = [row["speedup"] for row in rows[1:]]
    found = ranking(rows, samples)
    has_intervals = all(gain["low"] is not None for gain in gains)
    return {
        "together": all(gain["low"] <= 1 <= gain["high"] for gain in gains) if has_intervals else None,
        "faster": " times as fast as " in verdict(rows),
        "leader": max(gain["median"] for gain in gains),
        "held_out": found.held_out,
    }


def sample(choice: Choice, prompt: int, speed: float) -> Sample:
    return Sample(
        choice.label, str(prompt), "", 0, 1, (1,), "", "length", 0, round(1e15 / speed), 1, 0, 0, 1, 0, 0, 0, 0, (), (),
        (), Audit("identical"),
    )  # fmt: skip


def real(comparisons: int) -> dict[str, Any]:
    speeds = [[one.tokens_per_s for one in times] for times in decoded()]
    dice, told = random.Random(1), []
    for _ in range(comparisons):
        prompts = dice.sample(speeds, 12)
        shuffled = [dice.sample(times, STRATEGIES + 1) for times in prompts]
        told.append(outcome([[times[i] / times[0] for times in shuffled] for i in range(1, STRATEGIES + 1)]))
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
