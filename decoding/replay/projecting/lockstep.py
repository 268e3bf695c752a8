"""Texts that prepare ahead, decoded together, each round as long as the slowest text makes it. Standard library only.

This is no player: SSD's simulator has played each text by itself at the prices of its batch, and here the rounds of its
traces are put beside each other. What does not prepare ahead is played by `replay.player`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.prices.cost_model import CostModel
from decoding.trace.accounting import rounds
from decoding.trace.events import Event


@dataclass(frozen=True)
class RoundStep:
    """One round of one text."""

    wait: float  # seconds from the last verdict to the verification
    rows: int  # of the verification
    gained: int  # tokens


def steps_of(trace: Sequence[Event]) -> list[RoundStep]:
    """The rounds of a trace, live or simulated."""
    return [
        RoundStep(
            (each.verdict.start_ns - each.free_ns) * 1e-9,
            len(each.draft.tokens) + 1 if each.draft else 1,
            each.verdict.accepted + 1,
        )
        for each in rounds(trace)
    ]


def tokens_per_s(texts: Sequence[Sequence[RoundStep]], costs: CostModel, batch: int) -> float:
    """Tokens per second of each text, with so many decoded together.

    Each place of the batch plays every round of all texts once, and each begins elsewhere. A round takes the longest
    wait of its texts and one joint verification: the whole batch waits for any text that missed."""
    every = [step for text in texts for step in text]
    count = len(every)
    offsets = [count * place // batch for place in range(batch)]
    seconds = 0.0
    for number in range(count):
        together = [every[(number + offset) % count] for offset in offsets]
        seconds += max(step.wait for step in together)
        seconds += costs.verify(batch, sum(step.rows for step in together))
    return sum(step.gained for step in every) / seconds
