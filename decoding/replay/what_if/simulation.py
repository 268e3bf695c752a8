"""Simulation of a setting on every recorded prompt, with its cost. Pure: no database, no models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from decoding.choice import Choice
from decoding.drafting.source import Source
from decoding.drafting.strategy import LONGEST
from decoding.prices.counts import Counts
from decoding.replay.player import replay
from decoding.replay.what_if.possible import Possible
from decoding.replay.what_if.recorded import RecordedComparison
from decoding.strategies.oracle import UntilRefused


@dataclass(frozen=True)
class Simulation(Possible):
    """Counts in two cases: all tokens that nobody drafted are refused, or all are accepted."""

    found: RecordedComparison
    refused: Sequence[Counts]
    accepted: Sequence[Counts]
    hit_rate: ClassVar[None] = None  # nothing is prepared ahead

    @cached_property
    def times(self) -> list[tuple[float, float, float]]:
        both = zip(self.refused, self.accepted, strict=True)
        seconds = self.found.costs.seconds
        return [(self.found.undrafted(one.tokens), seconds(one), seconds(other)) for one, other in both]

    @property
    def unmeasured(self) -> float:
        """Share of verifications wider than any that was measured."""
        return self.over(lambda counts: _wider(counts, self.found.widest[1]) / counts.target_passes)

    @property
    def mean_acceptance_length(self) -> float:
        return self.over(_acceptance_length)

    @property
    def num_target_passes(self) -> int:
        return round(self.over(lambda counts: counts.target_passes))

    @property
    def num_draft_passes(self) -> int:
        return round(self.over(lambda counts: counts.draft_passes))

    def over(self, number: Callable[[Counts], float]) -> float:
        """Mean of a figure over the two cases. In each case the figure covers all prompts."""
        return (number(_added(self.refused)) + number(_added(self.accepted))) / 2


def simulate(found: RecordedComparison, choice: Choice) -> Simulation:
    refused = _play(found, choice.sources(found.judge(choice)), False)
    if choice.spec.copies_only:  # the text tells all
        return Simulation(found, refused, refused)
    return Simulation(found, refused, _play(found, choice.sources(found.judge(choice)), True))


def oracle(found: RecordedComparison) -> Simulation:
    return Simulation(found, *(_play(found, lambda: UntilRefused(LONGEST), hopes) for hopes in (False, True)))


def _play(found: RecordedComparison, source: Callable[[], Source], hopes: bool) -> Sequence[Counts]:
    """Counts by prompt."""
    return replay(found.texts(source().sees, hopes), source, found.costs).parts


def _acceptance_length(counts: Counts) -> float:
    drafted = counts.target_passes - counts.rounds[0]
    return 1 + counts.accepted / drafted if drafted else 1.0


def _wider(counts: Counts, rows: int) -> int:
    return sum(rounds for drafted, rounds in counts.rounds.items() if drafted + 1 > rows)


def _added(every: Sequence[Counts]) -> Counts:
    total = Counts()
    for counts in every:
        total.add(counts)
    return total
