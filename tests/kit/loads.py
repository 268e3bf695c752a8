"""Texts decoded at a load, and prices of passes that they share."""

from __future__ import annotations

import dataclasses
from collections import abc

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.dice.sampling import Sampling
from decoding.measure.sample import SampleResult
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from tests.golden.documents import COSTS  # type: ignore[attr-defined]  # mypy takes the folder of that name
from tests.kit.pairs import LETTERS, Letters, comparison, pair
from tests.kit.table import TableRunner
from tests.kit.worlds import some_classifier, tables

PROMPTS = [
    PromptItem(str(number), text, "x") for number, text in enumerate(("ab", "c", "dd", "e", "fgh", "b", "kl", "aa"))
]
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=12),
    "shared": Sampling(max_new_tokens=12, temperature=0.9, dice="shared"),
    "ratio": Sampling(max_new_tokens=12, temperature=0.9, dice="ratio"),
}


def texts(samples: abc.Sequence[SampleResult]) -> dict[tuple[str, str], tuple[int, ...]]:
    """Tokens of each strategy and prompt, whatever the load."""
    return {(sample.strategy.split(" @")[0], sample.prompt): sample.tokens for sample in samples}


def decoded(choices: abc.Sequence[Choice], sampling: Sampling, **settings: object) -> list[SampleResult]:
    """Decode eight prompts with each choice, at its load."""
    world = pair()
    world.hold("", some_classifier())
    made = comparison(sampling, choices=choices, **{"pair": world, "prompts": PROMPTS, **settings})
    return made.run()


def fragile() -> ModelPair:
    """A pair whose target answers NaN after the letter k, which it never writes itself."""
    table, draft = tables(len(LETTERS), 7)
    for each in (table, draft):
        each[:, LETTERS.index("k")] = -1e9
    table[LETTERS.index("k")] = torch.nan
    return ModelPair(TableRunner(table), TableRunner(draft), Letters(), frozenset(), torch.float64)


# A row costs 1 ms on top of 10, a draft step 1 ms, the rest of a round 1 ms: few rows are cheap, many are not.
SIZES = (1, 2, 4, 8, 16)
CHEAP = CostModel(
    target={n: [(rows, 0.010 + 0.001 * rows) for rows in (n, 4 * n, 8 * n)] for n in SIZES},
    steps={n: [(n, 0.001)] for n in SIZES},
    rest=[(n, 0.001) for n in SIZES],
)
DEAR = CostModel(
    target={n: [(rows, 0.010 * rows) for rows in (n, 4 * n, 8 * n)] for n in SIZES},
    steps={n: [(n, 0.001 * n)] for n in SIZES},
    rest=[(n, 0.0) for n in SIZES],
)


def like_one(shared: CostModel) -> CostModel:
    """Passes that texts share at these prices, and what one text does at COSTS."""
    passes = {name: getattr(shared, name) for name in ("target", "steps", "begin", "rest", "prompts")}
    priced: CostModel = dataclasses.replace(COSTS, **passes)
    return priced
