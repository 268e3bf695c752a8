"""Worth of each source of drafts, measured for `bench sources`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

from benchmarks._disco_bars import run
from benchmarks._wide_target import loaded
from decoding.measure.sample import Sample
from decoding.pair import Pair
from decoding.prices.machine_card import Card
from decoding.projecting.projecting import Material
from decoding.prompts.prompt import Prompt
from decoding.replay.planning import study
from decoding.spec import Choice, Sampling, choose, parse_choices
from decoding.strategies import STRATEGIES
from worker.terminal.bench import Bench, read_bench
from worker.terminal.files import whole_file
from worker.terminal.material import STARTER
from worker.terminal.prompt_files import read_prompt_file

SOURCES = "suffix", "static:3", "static:5"  # of `hybrid`: copies, and the draft model at two lookaheads
CHOICES = parse_choices(",".join(("autoregressive,lookup,hybrid,best-source", *SOURCES)))
JUDGED = parse_choices("disco-hybrid")  # where the pair has a classifier that knows copies
THEIRS = parse_choices("transformers-lookup")
GRIDS = "suffix", "static"  # on a card, of each the setting that is best there


def measure_all(given: argparse.Namespace) -> None:
    bench = read_bench(given, "test", drafting="A comparison of copies with drafts")
    usual, greedy = bench.sampling, dataclasses.replace(bench.sampling, temperature=0.0, repetition_penalty=1.0)
    rows = list[dict[str, Any]]()
    with whole_file(given.json) if given.json else nullcontext() as file, ExitStack() as using:
        pair = using.enter_context(loaded(bench, given.wide)).pair
        judged = JUDGED if pair.classifier_at("") and pair.classifier("").knows_copies else ()
        for name, prompts in _sets(given, bench).items():
            for sampling in (usual, greedy):
                if given.card:
                    speeds = projected(pair, prompts, sampling, given.card, judged)
                else:
                    choices = [*CHOICES, *judged, *(THEIRS if sampling is greedy else ())]
                    done = run(pair, prompts, choices, sampling, 1)
                    speeds = {label: speed(samples) for label, samples in done.samples.items()}
                how = "greedy" if sampling is greedy else f"temperature {sampling.temperature:g}"
                rows.append({"set": name, "sampling": how, **found(speeds)})
                show(rows[-1])
        if file:
            json.dump(rows, file, indent=2)


def _sets(given: argparse.Namespace, bench: Bench) -> dict[str, list[Prompt]]:
    """Prompts by the name of their set: those that were given, or sets in the box."""
    if given.prompts:
        return {given.prompts.stem: bench.prompts}
    files = {name: STARTER / "prompts" / f"{name}.jsonl" for name in given.sets}
    return {name: read_prompt_file(file, "test", given.limit) for name, file in files.items()}


def projected(
    pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, card: Card, judged: Sequence[Choice]
) -> dict[str, float]:
    """Tokens per second at a card's prices, by replay of recorded texts."""
    recorded = study(pair, prompts, sampling, tails=True)
    classifier = pair.classifier("") if judged else None
    material = Material.of(recorded, pair.vocab, classifier, most=sys.maxsize)
    speeds = {c.label: material.speed(c, card, 1) for c in (*CHOICES, *judged) if c.strategy not in GRIDS}
    for slug in GRIDS:
        settings = (choose(slug, params) for params in STRATEGIES[slug].grid())
        best, label = max((material.speed(choice, card, 1), choice.label) for choice in settings)
        speeds[label] = best
    return speeds


def speed(samples: Sequence[Sample]) -> float:
    """Tokens per second over all samples."""
    return sum(len(each.tokens) for each in samples) / sum(len(each.tokens) / each.tokens_per_s for each in samples)


def found(speeds: dict[str, float]) -> dict[str, Any]:
    """Return the speeds by label, and the ratios that the bars are about."""
    hybrids = {k.partition(":")[0]: v for k, v in speeds.items() if k.startswith(("hybrid", "disco-hybrid"))}
    [bound] = [v for k, v in speeds.items() if k.startswith("best-source")]
    better = max(v for k, v in speeds.items() if k.startswith(("suffix", "static")))
    ratios = {"bound": bound / better}
    for name, hybrid in hybrids.items():
        ratios[name] = hybrid / better
        if bound > better:  # on a busy machine it may be slower
            ratios[f"gap closed by {name}"] = (hybrid - better) / (bound - better)
    theirs = [v for k, v in speeds.items() if k.startswith("transformers")]
    ours = [v for k, v in speeds.items() if k.startswith("lookup")]
    if theirs:
        ratios["lookup / transformers'"] = ours[0] / theirs[0]
    return {"tokens_per_s": speeds, "ratios": ratios}


def show(row: dict[str, Any]) -> None:
    print(f"{row['set']}, {row['sampling']}")
    print("  " + "  ".join(f"{name} {value:.0f}" for name, value in row["tokens_per_s"].items()))
    print("  over the better source: " + ", ".join(f"{name} {value:.2f}" for name, value in row["ratios"].items()))
