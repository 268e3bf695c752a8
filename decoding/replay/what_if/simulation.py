"""Simulation of a setting on every prompt of a recorded comparison, round by round: for one user or several at once, or
of drafts that are prepared ahead. Texts and drafts are those of one user; prices are those of shared passes. Pure: no
database, no models.

Strategies that write the same text would draft the same token at each position, so a position where one of them drafted
is known for all. Positions where none drafted are unknown. So a replay runs twice: it takes all unknown tokens as
refused, then all as accepted.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from decoding.choice import Choice, choose
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Judging, Source
from decoding.drafting.strategy import LONGEST
from decoding.measure.intervals import Interval, ratio_interval
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_beside, undisturbed
from decoding.replay.at_load import PlayedRequest, PlayedRun, play
from decoding.replay.player import RoundCounts, play_each
from decoding.replay.ssd.simulator import simulate as simulate_ahead
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.what_if.places import TracedText
from decoding.ssd.policy.ssd_policy import Plan
from decoding.strategies import BASELINE
from decoding.strategies.oracle import UntilRefused
from decoding.trace.events import Anticipated, Event

HEAD = 96  # tokens of each text that are simulated of what prepares ahead
MOST_TOKENS = 960  # tokens of all these texts, so that a slider answers quickly
_REFUSED = -9  # a random token: the target hardly ever says it


@dataclass(frozen=True)
class AheadPrices:
    """Prices of preparing ahead on this machine."""

    one: CostModel  # for one user
    is_beside: bool  # the draft ran beside the target
    at: Mapping[int, CostModel] = field(default_factory=dict)  # by number of users, from 2 up

    @classmethod
    def of(
        cls, priced: Sequence[Sequence[Event]], ahead: Sequence[Sequence[Event]], *, is_beside: bool
    ) -> AheadPrices | None:
        """Read the prices from traces of one user. Return None if no SSD run was long enough to measure them."""
        prepared = (event for trace in ahead for event in trace if isinstance(event, Anticipated))
        if not any(event.round > 1 and event.passes > 1 for event in prepared):
            return None
        return cls(prices_beside(costs_from(priced), ahead), is_beside)

    def for_users(self, users: int, costs: CostModel) -> CostModel:
        """Prices for so many users: preparing costs what it did at the largest load that ran and is no larger."""
        loads = [load for load in self.at if load <= users]
        return self.at[max(loads)] if loads else undisturbed(costs, self.one, costs)


@dataclass(frozen=True)
class RecordedComparison:
    prompts: list[TracedText]
    prompt_count: int  # prompts of the comparison; `prompts` may hold fewer
    costs: CostModel
    widest: Mapping[int, int]  # by number of users: rows of the widest verification that was measured
    ahead: AheadPrices | None = None  # None if no SSD run shows its costs
    judges: Mapping[str, Judging] = field(default_factory=dict)  # of copied tokens, by classifier
    is_clear: bool = True  # longer drafts took longer, so their cost is more than noise

    @property
    def knows_the_draft(self) -> bool:
        """Whether the traces show what the draft model would say, and at which price."""
        return self.costs.draft(1) > 0 and all(places.is_drafted for places in self.prompts)

    @property
    def knows_prompts(self) -> bool:
        return all(places.prompt_tokens for places in self.prompts)

    def judge(self, choice: Choice) -> Judging | None:
        """Return the judge of copied tokens that this choice asks; None if it asks none, or nobody has it."""
        return self.judges.get(choice.classifier or "")

    @cached_property
    def if_refused(self) -> list[RecordedText]:
        return [places.text(hopes=False) for places in self.prompts]

    @cached_property
    def if_accepted(self) -> list[RecordedText]:
        return [places.text(hopes=True) for places in self.prompts]

    @property
    def heads(self) -> list[TracedText]:
        """The beginnings of some texts of every part of the prompts, for what prepares ahead."""
        heads = [places.head(HEAD) for places in self.prompts]
        return heads[:: max(1, round(sum(len(places.said) for places in heads) / MOST_TOKENS))]

    def can_replay_backup(self, backup: str) -> bool:
        """Whether the traces tell what drafts after a miss. Copies need the prompt's tokens."""
        return backup == "neural" or self.knows_prompts

    def plan(self, choice: Choice) -> Plan:
        """Make the plan of a choice. If its backup cannot be replayed, the draft model drafts instead."""
        assert choice.ahead
        settings = choice.ahead
        if not self.can_replay_backup(settings.backup):
            settings = replace(settings, backup="neural")
        return Plan(settings, random_tokens=lambda seed, text, count: [_REFUSED] * count)

    def undrafted(self, tokens: int) -> float:
        """Seconds that autoregressive takes for so many tokens, at the same costs."""
        return tokens * (self.costs.verify(1, 1) + self.costs.fixed(1) + self.costs.token)

    @property
    def known(self) -> float:
        """Share of positions where some strategy drafted."""
        places = [said for prompt in self.prompts for said in prompt.draftable]
        return sum(said is not None for said in places) / len(places)


@dataclass(frozen=True)
class Simulation:
    """A setting in two cases: all tokens that nobody drafted are refused, or all are accepted."""

    users: int
    widest: int | None  # rows of the widest verification that was measured for so many users; None: no run shows any
    undrafted: Sequence[float]  # seconds that autoregressive takes for each text
    refused: PlayedRun
    accepted: PlayedRun
    hit_rate: float | None = None  # None: nothing is prepared ahead

    @cached_property
    def times(self) -> list[tuple[float, float, float]]:
        """Per prompt, the seconds of autoregressive, and those of the setting in both cases. Several users' times
        include waiting and the prompt, as a comparison counts under load."""
        cases = zip(self.undrafted, self.refused.requests, self.accepted.requests, strict=True)
        return [(undrafted, one.end, other.end) for undrafted, one, other in cases]

    @cached_property
    def middle(self) -> list[tuple[float, float]]:
        """Per prompt, the seconds of autoregressive and those halfway between both cases."""
        return [(undrafted, (one + other) / 2) for undrafted, one, other in self.times]

    @property
    def ratio(self) -> float:
        """Speed-up over autoregressive, of the total times."""
        return sum(undrafted for undrafted, _ in self.middle) / sum(own for _, own in self.middle)

    @property
    def interval(self) -> Interval:
        return ratio_interval(self.middle)

    @property
    def possible(self) -> tuple[float, float]:
        """The speed-up in both cases, the smaller first."""
        undrafted, one, other = (sum(column) for column in zip(*self.times, strict=True))
        return min(undrafted / one, undrafted / other), max(undrafted / one, undrafted / other)

    @property
    def unmeasured(self) -> float:
        """Share of verifications whose price no run shows."""
        if self.widest is None:
            return 1.0
        widest = self.widest
        return self._over(lambda rounds: sum(self.users * (one.drafted + 1) > widest for one in rounds) / len(rounds))

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
        """Mean of a figure over the two cases. In each case the figure covers all prompts."""
        cases = [[one for request in run.requests for one in request.rounds] for run in (self.refused, self.accepted)]
        return sum(map(number, cases)) / 2


def _acceptance_length(rounds: Sequence[RoundCounts]) -> float:
    drafted = [one.accepted for one in rounds if one.drafted]
    return 1 + sum(drafted) / len(drafted) if drafted else 1.0


def simulate(found: RecordedComparison, choice: Choice, users: int = 1) -> Simulation:
    if choice.spec.prepares_ahead:
        return _ahead(found, choice, users)
    if users == 1:
        return _alone(found, lambda: choice.sources(found.judge(choice)), is_known=choice.spec.copies_only)
    refused = _play(found, choice, users, found.if_refused)
    accepted = refused if choice.spec.copies_only else _play(found, choice, users, found.if_accepted)
    undrafted = _ends(_play(found, choose(BASELINE), users, found.if_refused))
    return Simulation(users, found.widest.get(users), undrafted, refused, accepted)


def oracle(found: RecordedComparison) -> Simulation:
    return _alone(found, lambda: lambda: UntilRefused(LONGEST))


def _alone(
    found: RecordedComparison, sources: Callable[[], Callable[[], Source]], *, is_known: bool = False
) -> Simulation:
    """Simulate one user, whose prompts have been read. Each case has sources of its own, as their texts may share what
    they learn. `is_known`: the text tells all that is drafted."""

    def run(texts: Sequence[RecordedText]) -> PlayedRun:
        played = play_each(texts, sources(), found.costs)
        return PlayedRun(
            1, [PlayedRequest(one.tokens, 0.0, found.costs.seconds(one), rounds) for one, rounds in played]
        )

    refused = run(found.if_refused)
    undrafted = [found.undrafted(request.tokens) for request in refused.requests]
    return Simulation(1, found.widest[1], undrafted, refused, refused if is_known else run(found.if_accepted))


def _play(found: RecordedComparison, choice: Choice, users: int, texts: Sequence[RecordedText]) -> PlayedRun:
    source = choice.sources(found.judge(choice))
    return play(texts, source, found.costs, users, drafts=choice.spec.needs_draft)


def _ends(run: PlayedRun) -> list[float]:
    return [request.end for request in run.requests]


def _ahead(found: RecordedComparison, choice: Choice, users: int) -> Simulation:
    """Simulate a strategy that prepares ahead, on a part of the texts. For one user their prompts have been read."""
    ahead, heads, plan = found.ahead, found.heads, found.plan(choice)
    assert ahead, f"nobody knows what {choice.label} costs"

    def run(hopes: bool) -> PlayedRun:
        texts = [places.ahead(hopes) for places in heads]
        if users == 1:
            return simulate_ahead(texts, plan, ahead.one, ahead.is_beside)
        return simulate_together(texts, plan, ahead.for_users(users, found.costs), users, ahead.is_beside)

    refused, accepted = run(False), run(True)
    undrafted = [found.undrafted(request.tokens) for request in refused.requests]
    if users > 1:
        texts = [places.text(hopes=False) for places in heads]
        undrafted = _ends(play(texts, choose(BASELINE).sources(), found.costs, users, drafts=False))
    rates = [case.hit_rate for case in (refused, accepted) if case.hit_rate is not None]
    hit_rate = statistics.mean(rates) if rates else None
    return Simulation(users, found.widest.get(users), undrafted, refused, accepted, hit_rate)
