"""The order in which the samples of a comparison run.

Strategies take turns in changing order, so that drift of the machine hits all alike: after each prompt where one user
asks at a time, after each block of prompts under load. Standard library only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from decoding.choice import Choice
from decoding.core.load import ONE, Load
from decoding.prompts.prompt import PromptItem, in_turn

PROMPTS_EACH = 4  # a block has so many prompts for each user: filling and emptying the machine takes about one


@dataclass(frozen=True)
class SampleKey:
    """The name of one sample of a comparison."""

    choice: Choice
    prompt: PromptItem
    repeat: int


def schedule(prompts: Sequence[PromptItem], choices: Sequence[Choice], repeats: int) -> Iterator[list[SampleKey]]:
    """Yield every sample in the order in which they run, one list per block of prompts, repeat and load. Each repeat
    begins at another prompt: a strategy may learn from one request to the next."""
    for repeat in range(repeats):
        first = len(prompts) * repeat // repeats
        rotated = [*prompts[first:], *prompts[:first]]
        for load in dict.fromkeys(choice.load for choice in choices):
            own = [choice for choice in choices if choice.load == load]
            for number, block in enumerate(blocks_by_turn(rotated, load)):
                yield [SampleKey(own[n], p, repeat) for n in strategy_order(len(own), number + repeat) for p in block]


def strategy_order(count: int, block: int) -> list[int]:
    """Numbers of the strategies in a block's order: rows of a Williams square. Over a period each strategy stands
    at each place and follows each other one equally often, so that what one leaves behind in caches and clocks hits all
    others alike. Each period begins at another row, since prompts may come in periods too."""
    period = count if count % 2 == 0 else 2 * count
    cycle, row = divmod(block, period)
    row = (row + cycle) % period
    zigzag = [(n + 1) // 2 if n % 2 else -(n // 2) for n in range(count)]
    found = [(step + row) % count for step in zigzag]
    return found[::-1] if row >= count else found


def blocks_by_turn(prompts: Sequence[PromptItem], load: Load) -> list[Sequence[PromptItem]]:
    """Cut prompts into blocks. A later turn comes in a later block than the turn whose answer it follows."""
    if load == ONE:
        return blocks(in_turn(prompts), load)
    by_turn = ([prompt for prompt in prompts if prompt.turn == turn] for turn in sorted({p.turn for p in prompts}))
    return [block for same in by_turn for block in blocks(same, load)]


def blocks(prompts: Sequence[PromptItem], load: Load) -> list[Sequence[PromptItem]]:
    """Cut prompts into blocks: of one where one user asks at a time, so long that the load is steady otherwise."""
    if load == ONE:
        return [[prompt] for prompt in prompts]
    count = 1 if load.is_open else max(1, len(prompts) // (PROMPTS_EACH * load.concurrency))
    edges = [len(prompts) * number // count for number in range(count + 1)]
    return [prompts[start:end] for start, end in itertools.pairwise(edges)]


def stints(keys: Iterable[SampleKey]) -> list[list[SampleKey]]:
    """Group samples that are decoded together: one by one where one user asks at a time, else all of a choice."""
    singles = itertools.count()
    ordered = itertools.groupby(keys, lambda key: next(singles) if key.choice.load == ONE else key.choice.label)
    return [list(together) for _, together in ordered]
