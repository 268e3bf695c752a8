"""Worth of trees, measured for `bench trees`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from benchmarks._disco_bars import run
from decoding.pair import Pair
from decoding.prices.cost_model import CostModel
from decoding.prices.machine_card import Card, published
from decoding.projecting.projecting import Material
from decoding.projecting.texts import acceptance
from decoding.prompts.prompt import Prompt
from decoding.replay import probing
from decoding.replay.planning import ALONE, STATICS, Study, static, study
from decoding.replay.tree_worth import tree_worth
from decoding.spec import Choice, Sampling, choose
from decoding.strategies.tree import ROWS, STRATEGY
from worker.terminal.bench import read_bench
from worker.terminal.files import whole_file
from worker.terminal.loading import load_pair
from worker.terminal.prompt_files import read_prompt_file

TREES = [choice for params in STRATEGY.grid() if (choice := choose(STRATEGY.slug, params)).follows_ranks]
RUN = [rows for rows in ROWS if 2 < rows < 32]  # sizes that are run here


def fastest(material: Material, choices: Sequence[Choice], card: Card) -> tuple[float, Choice]:
    return max(((material.speed(choice, card, 1), choice) for choice in choices), key=lambda pair: pair[0])


def of_size(rows: int) -> list[Choice]:
    return [choice for choice in TREES if choice.params["rows"] == rows]


def projected(material: Material, name: str, card: Card) -> Iterator[dict[str, Any]]:
    """Trees and chains of the same number of drafted tokens on one card, then the best of both."""
    for rows in ROWS:
        speed, tree = fastest(material, of_size(rows), card)
        gain = speed / material.speed(static(rows), card, 1)
        yield {"card": name, "tree": tree.label, "chain": static(rows).label, "tree_over_chain": gain}
    speed, tree = fastest(material, TREES, card)
    other, chain = fastest(material, STATICS, card)
    yield {"card": name, "tree": tree.label, "chain": chain.label, "tree_over_chain": speed / other}


def confirmed(
    pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, recorded: Study, costs: CostModel
) -> list[dict[str, Any]]:
    """Predict and run the best tree of each size and the chain of as many tokens."""

    def predicted(choice: Choice) -> float:
        return costs.tokens_per_s(recorded.play(choice))

    pairs = [(max(of_size(rows), key=predicted), static(rows)) for rows in RUN]
    done = run(pair, prompts, [ALONE, *(choice for both in pairs for choice in both)], sampling, 1)

    def measured(tree: Choice, chain: Choice) -> float:
        speeds = [{each.prompt: each.tokens_per_s for each in done.samples[choice.label]} for choice in (tree, chain)]
        return statistics.median(speeds[0][prompt] / speeds[1][prompt] for prompt in speeds[0])

    return [
        {
            "tree": tree.label,
            "chain": chain.label,
            "predicted": predicted(tree) / predicted(chain),
            "measured": measured(tree, chain),
        }
        for tree, chain in pairs
    ]


def measure_all(given: argparse.Namespace) -> None:
    bench = read_bench(given, "test", drafting="Trees")
    prompts = [*bench.prompts, *read_prompt_file(given.other, "test", given.limit)]
    bench = dataclasses.replace(bench, prompts=prompts)
    with whole_file(given.json) if given.json else nullcontext() as file:
        pair = load_pair(bench).pair
        recorded = study(pair, prompts, bench.sampling, tails=True)
        material = Material.of(recorded, pair.vocab, None)
        there = [row for name, card in published().items() for row in projected(material, name, card)]
        costs = probing.probe(pair, prompts, bench.sampling)
        result = {
            "acceptance": acceptance(material.texts),
            "costs": costs.for_one(),
            "projected": there,
            "worth": tree_worth(recorded, costs).to_dict(),
            "run": confirmed(pair, prompts, bench.sampling, recorded, costs),
        }
        show(result)
        if file:
            json.dump(result, file, indent=2)


def show(result: dict[str, Any]) -> None:
    print(f"acceptance {result['acceptance']:.3f}")
    print("projected: the best tree of a size over the chain of as many tokens, then the best of all")
    for row in result["projected"]:
        print(f"  {row['card']:22} {row['tree']:26} {row['chain']:10} {row['tree_over_chain']:.2f}")
    print(f"here: {result['worth']['sentence']}")
    for row in result["run"]:
        off = row["predicted"] / row["measured"] - 1
        print(f"  {row['tree']:26} over {row['chain']:10} predicted {row['predicted']:.2f}, measured ", end="")
        print(f"{row['measured']:.2f} ({off:+.1%})")
