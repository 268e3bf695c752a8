"""Law of a text of three tokens, and whether draws follow it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import torch

from decoding.backends.registry import Parts
from decoding.choice import Choice
from decoding.core.drafter import Drafter
from decoding.dice.sampling import Sampling
from decoding.drafting.source import Source
from tests.kit.worlds import World, state_of

VOCAB, LENGTH = 3, 3


def law_of_three(table: torch.Tensor, *prompt: int) -> dict[tuple[int, ...], float]:
    """Probability of every three tokens after a prompt."""
    p = torch.softmax(table, -1)
    return {
        words: math.prod(float(p[state_of([*prompt, *words[:i]]), word]) for i, word in enumerate(words))
        for words in itertools.product(range(VOCAB), repeat=LENGTH)
    }


Draw = Callable[[range], Counter[tuple[int, ...]]]  # counts what is decoded with these seeds


def follows(law: dict[tuple[int, ...], float], draw: Draw, draws: int) -> bool:
    """Tell whether what is drawn follows a law of three tokens.

    Where a clock decides, as in hits and prices, the same seeds give other draws each time, and 1 of 1,000 fair ones
    look wrong. So draws that look wrong are made anew, 4 times as many, and have to look right then: 1 fair draw of
    1,000,000 is refused, and a biased one looks worse the more is drawn."""
    return any(chi_square(draw(seeds), law) < 54.05 for seeds in (range(draws), range(draws, 5 * draws)))


def chi_square(counts: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    """Distance of draws from a law: below 54.05 for 99.9 % of fair draws of three tokens, 26 degrees of freedom."""
    draws = counts.total()
    return sum((counts[words] - draws * share) ** 2 / (draws * share) for words, share in law.items())


def drawing(
    world: World, choice: Choice | Callable[[Parts], Source | Drafter], prompt: Sequence[int], sampling: Sampling
) -> Draw:
    """Decode a prompt in a world once for each seed, and count the first three tokens."""
    return lambda seeds: Counter(tuple(world.run(choice, prompt, sampling, seed)[0].tokens[:LENGTH]) for seed in seeds)
