"""Replay of recorded texts for several users at once. Texts and drafts are those of one user; prices are those of
`joint_prices`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from decoding.replay import at_load
from decoding.replay.records import Counts, Record, WholeProposal
from decoding.spec import Choice
from decoding.strategy import Policy
from decoding.what_if.places import Places
from decoding.what_if.possible import Possible
from decoding.what_if.recorded import Recorded
from decoding.what_if.simulation import Simulation, simulate

_FREE = ((1, 0.0),)  # a line of prices: copied tokens take no pass of a draft model


@dataclass(frozen=True)
class AtLoad(Possible):
    """A setting for several users: the counterpart of `simulation.Simulation`, whose counts hold at any load."""

    users: int
    one_user: Simulation
    alone: at_load.Run
    refused: at_load.Run
    accepted: at_load.Run
    hit_rate: ClassVar[None] = None  # nothing is prepared ahead

    @cached_property
    def ratios(self) -> list[tuple[float, float]]:
        """With waiting and the prompt included, as a comparison counts under load."""
        cases = zip(self.alone.requests, self.refused.requests, self.accepted.requests, strict=True)
        found = [(alone.end / one.end, alone.end / other.end) for alone, one, other in cases]
        return [(min(both), max(both)) for both in found]

    @property
    def unmeasured(self) -> float:
        """Share of verifications whose price no run shows."""
        found = self.one_user.found
        widest = found.widest_by_users.get(self.users)
        if widest is None:
            return 1.0

        def wider(counts: Counts) -> float:
            return sum(n for drafted, n in counts.rounds.items() if self.users * (drafted + 1) > widest)

        return self.one_user.over(lambda counts: wider(counts) / counts.target_passes)

    @property
    def mean_acceptance_length(self) -> float:
        return self.one_user.mean_acceptance_length

    @property
    def num_target_passes(self) -> int:
        return self.one_user.num_target_passes

    @property
    def num_draft_passes(self) -> int:
        return self.one_user.num_draft_passes


def simulate_at_load(found: Recorded, choice: Choice, users: int) -> AtLoad:
    play = _Playing(found, users)
    alone = play.run([(places, record) for places, record in found.if_refused], Policy, False, drafts=False)
    one_user = simulate(found, choice)
    if choice.spec.proposer:
        memory: dict[str, Any] = {}
        copied = [(places, places.proposed(choice.proposer(memory)).record()) for places in found.prompts]
        exact = play.run(copied, WholeProposal, False, drafts=False)
        return AtLoad(users, one_user, alone, exact, exact)
    refused = play.run(found.if_refused, choice.policy, False)
    accepted = play.run(found.if_accepted, choice.policy, True)
    return AtLoad(users, one_user, alone, refused, accepted)


@dataclass(frozen=True)
class _Playing:
    found: Recorded
    users: int

    def run(
        self,
        texts: Sequence[tuple[Places, Record]],
        policy: Callable[[], Policy],
        hopes: bool,
        *,
        drafts: bool = True,
    ) -> at_load.Run:
        requests = [
            at_load.Recorded(record, places.prompt_length, places.seen(record, policy(), hopes))
            for places, record in texts
        ]
        costs = self.found.joint if drafts else replace(self.found.joint, draft=_FREE)
        look = self.found.costs.looking(policy().sees)
        return at_load.play(requests, policy, costs, self.users, look, drafts=drafts)
