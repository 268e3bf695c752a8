"""Simulation of a setting on every recorded prompt, with its cost. Pure: no database, no models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from decoding.prices.counts import Counts
from decoding.replay.mixed import Text, replay_mixed
from decoding.replay.records import Record, WholeProposal, replay, replay_trees
from decoding.spec import Choice
from decoding.strategies.oracle import UntilRefused
from decoding.strategy import LONGEST, Policy
from decoding.what_if.places import Places
from decoding.what_if.possible import Possible
from decoding.what_if.recorded import Recorded


@dataclass(frozen=True)
class Simulation(Possible):
    """Counts in two cases: all tokens that nobody drafted are refused, or all are accepted."""

    found: Recorded
    refused: Sequence[Counts]
    accepted: Sequence[Counts]
    hit_rate: ClassVar[None] = None  # nothing is prepared ahead

    @cached_property
    def times(self) -> list[tuple[float, float, float]]:
        both = zip(self.refused, self.accepted, strict=True)
        seconds = self.found.costs.seconds
        return [(self.found.alone(one.tokens), seconds(one), seconds(other)) for one, other in both]

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


def simulate(found: Recorded, choice: Choice) -> Simulation:
    if choice.spec.proposer:
        memory, judge = dict[str, Any](), found.judge(choice)
        exact = [replay([places.proposed(choice.proposer(memory, judge))], WholeProposal) for places in found.prompts]
        return Simulation(found, exact, exact)
    if choice.spec.mixes:
        return Simulation(
            found, _mix(found, choice, found.if_refused, False), _mix(found, choice, found.if_accepted, True)
        )
    if choice.spec.tree:
        return Simulation(found, *(_trees(found, choice, hopes) for hopes in (False, True)))
    return _play(found, choice.policy)


def oracle(found: Recorded) -> Simulation:
    return _play(found, lambda: UntilRefused(LONGEST))


def _acceptance_length(counts: Counts) -> float:
    drafted = counts.target_passes - counts.rounds[0]
    return 1 + counts.accepted / drafted if drafted else 1.0


def _trees(found: Recorded, choice: Choice, hopes: bool) -> list[Counts]:
    policies = choice.tree_policies()
    return [replay_trees([places.ranked(hopes)], policies) for places in found.prompts]


def _play(found: Recorded, policy: Callable[[], Policy]) -> Simulation:
    def played(places: Places, record: Record, hopes: bool) -> Counts:
        return replay([record], policy, lambda i: places.seen(record, policy().sees, hopes))

    refused = [played(places, record, False) for places, record in found.if_refused]
    accepted = [played(places, record, True) for places, record in found.if_accepted]
    return Simulation(found, refused, accepted)


def _mix(found: Recorded, choice: Choice, texts: Sequence[tuple[Places, Record]], hopes: bool) -> Sequence[Counts]:
    """Counts of a strategy that copies and drafts, by prompt."""
    sees, mix = choice.spec.sees or "nothing", partial(choice.mix, {}, judge=found.judge(choice))
    shown = [Text(places.proposed, record, places.seen(record, sees, hopes)) for places, record in texts]
    return replay_mixed(shown, mix, found.costs).parts


def _wider(counts: Counts, rows: int) -> int:
    return sum(rounds for drafted, rounds in counts.rounds.items() if drafted + 1 > rows)


def _added(every: Sequence[Counts]) -> Counts:
    total = Counts()
    for counts in every:
        total.add(counts)
    return total
