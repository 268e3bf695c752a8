"""Several texts that are decoded together, each round as long as the slowest text makes it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.events import Event
from decoding.prices.cost_model import CostModel
from decoding.replay.records import Proposed
from decoding.ssd.accounting import rounds
from decoding.tree_shapes import Ranked, TreePolicy


@dataclass(frozen=True)
class Step:
    """One round of one text."""

    wait: float  # seconds from the last verdict to the verification
    rows: int  # of the verification
    gained: int  # tokens


def steps_of(trace: Sequence[Event]) -> list[Step]:
    """The rounds of a trace, live or simulated."""
    return [
        Step(
            (each.verdict.start_ns - each.free_ns) * 1e-9,
            len(each.draft.tokens) + 1 if each.draft else 1,
            each.verdict.accepted + 1,
        )
        for each in rounds(trace)
    ]


def steps_of_proposer(text: Proposed, costs: CostModel) -> Iterable[Step]:
    """The rounds of a text for which a proposer drafts, in no time."""
    at = 0
    while at < len(text):
        agreed, found = text.at(at)
        yield Step(costs.fixed(1), found + 1, agreed + 1)
        at += agreed + 1


def steps_of_trees(text: Ranked, policy: TreePolicy, costs: CostModel, batch: int) -> Iterable[Step]:
    """The rounds of a text whose drafts are trees, drafted level by level."""
    for each in text.rounds(policy):
        drafting = sum(costs.draft(batch, batch * rows) for rows in each.steps)
        yield Step(drafting + costs.fixed(1), len(each.shape) + 1, len(each.path) + 1)


def tokens_per_s(texts: Sequence[Sequence[Step]], costs: CostModel, batch: int) -> float:
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
