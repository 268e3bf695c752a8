"""Replay of recorded texts round by round: for several users at once, or of drafts that are prepared ahead. Texts and
drafts are those of one user; prices are those of shared passes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from decoding.choice import Choice, choose
from decoding.replay import at_load
from decoding.replay.player import RoundCounts
from decoding.replay.what_if.ahead import mean_hit_rate
from decoding.replay.what_if.possible import Possible
from decoding.replay.what_if.recorded import RecordedComparison
from decoding.strategies import BASELINE


@dataclass(frozen=True)
class PlayedSimulation(Possible):
    """A setting, played round by round: the counterpart of `simulation.Simulation`."""

    users: int
    widest: int | None  # rows of the widest verification that was measured for so many users; None: no run shows any
    undrafted: Sequence[float]  # seconds that autoregressive takes for each text
    refused: at_load.PlayedRun
    accepted: at_load.PlayedRun
    hit_rate: float | None = None  # None: nothing is prepared ahead

    @cached_property
    def times(self) -> list[tuple[float, float, float]]:
        """With waiting and the prompt included for several users, as a comparison counts under load."""
        cases = zip(self.undrafted, self.refused.requests, self.accepted.requests, strict=True)
        return [(undrafted, one.end, other.end) for undrafted, one, other in cases]

    @property
    def unmeasured(self) -> float:
        """Share of verifications whose price no run shows."""
        if self.widest is None:
            return 1.0
        widest = self.widest
        return self._over(lambda rounds: statistics.mean(self.users * (one.drafted + 1) > widest for one in rounds))

    @property
    def mean_acceptance_length(self) -> float:
        return self._over(_acceptance_length)

    @property
    def num_target_passes(self) -> int:
        return round(self._over(len))

    @property
    def num_draft_passes(self) -> int:
        return round(self._over(lambda rounds: sum(one.passes for one in rounds)))

    def _over(self, number: Callable[[Sequence[RoundCounts]], float]) -> float:
        """Mean of a figure over the two cases."""
        cases = [[one for request in run.requests for one in request.rounds] for run in (self.refused, self.accepted)]
        return statistics.mean(map(number, cases))


def _acceptance_length(rounds: Sequence[RoundCounts]) -> float:
    drafted = [one.accepted for one in rounds if one.drafted]
    return 1 + statistics.mean(drafted) if drafted else 1.0


def simulate_played(found: RecordedComparison, choice: Choice, users: int) -> PlayedSimulation:
    if choice.spec.prepares_ahead:
        return _ahead(found, choice, users)
    refused = _play(found, choice, users, False)
    accepted = refused if choice.spec.copies_only else _play(found, choice, users, True)
    undrafted = _ends(_play(found, choose(BASELINE), users, False))
    return PlayedSimulation(users, found.widest.get(users), undrafted, refused, accepted)


def _play(found: RecordedComparison, choice: Choice, users: int, hopes: bool) -> at_load.PlayedRun:
    texts, source = found.texts(choice.sees, hopes), choice.sources(found.judge(choice))
    return at_load.play(texts, source, found.costs, users, drafts=choice.spec.needs_draft)


def _ends(run: at_load.PlayedRun) -> list[float]:
    return [request.end for request in run.requests]


def _ahead(found: RecordedComparison, choice: Choice, users: int) -> PlayedSimulation:
    """Simulate a strategy that prepares ahead, on a part of the texts. For one user their prompts have been read."""
    ahead = found.ahead
    assert ahead, f"nobody knows what {choice.label} costs"
    cases, undrafted = ahead.play(choice, users, found.costs), ahead.undrafted
    if users > 1:
        undrafted = _ends(at_load.play(ahead.refused, choose(BASELINE).sources(), found.costs, users, drafts=False))
    return PlayedSimulation(users, found.widest.get(users), undrafted, *cases, mean_hit_rate(*cases))
