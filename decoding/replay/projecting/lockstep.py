"""Several texts that are decoded together, each round as long as the slowest text makes it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decoding.drafting.records import RecordedText
from decoding.drafting.source import Source
from decoding.prices.cost_model import CostModel
from decoding.replay.player import rounds_of
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


def steps_along(text: RecordedText, source: Source, costs: CostModel, batch: int) -> Iterator[RoundStep]:
    """The rounds of a recorded text for which a source drafts, in passes of so many texts."""
    for each in rounds_of(text, source):
        drafting = sum(costs.draft(batch, batch * one.rows) for one in each.passes)
        yield RoundStep(drafting + costs.fixed(1), each.size + 1, each.accepted + 1)


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
