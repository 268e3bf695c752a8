"""SSD under other settings, simulated along the recorded texts. No model runs.

A round ends at the draft's first wrong token, whatever the settings. The trace of an SSD run shows which branch held
the target's token there, so the simulation can place other branches. If no branch held it, its rank is unknown: just
behind the branches, or nowhere. The simulation runs once for each case. The same trace gives the costs of branches.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from decoding.choice import Choice
from decoding.drafting.records import NOTHING_SEEN, RecordedText, Written
from decoding.drafting.tree_shapes import RANKS
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_beside, undisturbed
from decoding.replay.ssd.playing import Simulated
from decoding.replay.ssd.simulator import simulate, simulate_together
from decoding.replay.what_if.places import TracedText
from decoding.ssd.policy.ssd_policy import Plan
from decoding.trace.events import Anticipated, Drafted, Event, Verified

MOST_BRANCHES = 32  # most that a setting may ask for
LONGEST = 96  # tokens of each text that are simulated
MOST_TOKENS = 960  # tokens of all texts that are simulated, so that a slider answers quickly
_REFUSED = -9  # a random token: the target hardly ever says it
_ELSE = tuple(range(-10, -10 - RANKS - MOST_BRANCHES - 2, -1))  # tokens that differ from all of the target's


@dataclass(frozen=True)
class Stood:
    """Tokens that the draft preferred to the target's, as far as branches show. There may be more of them if the
    target's was not found."""

    before: tuple[int, ...]
    was_found: bool


def stood(events: Iterable[Event]) -> dict[int, Stood]:
    """Preferences by position of the text, as far as one sample's branches show."""
    drafts: dict[int, int] = {}
    verdicts: dict[int, tuple[int, Verified]] = {}
    found, at = {}, 0
    for event in events:
        if isinstance(event, Drafted):
            drafts[event.round] = len(event.tokens)
        elif isinstance(event, Verified):
            at += event.accepted + 1
            verdicts[event.round] = at - 1, event
        elif isinstance(event, Anticipated) and event.round in verdicts and event.round in drafts:
            place, verdict = verdicts[event.round]
            listed = [token for count, token, _ in event.branches if count == verdict.accepted]
            before = tuple(takewhile(lambda token: token != verdict.token, listed))  # noqa: B023
            found[place] = Stood(before, len(before) < len(listed))
    return found


def surer(one: Mapping[int, Stood], other: Mapping[int, Stood]) -> dict[int, Stood]:
    """Combine two samples of the same text."""
    return {
        place: max(
            (known[place] for known in (one, other) if place in known),
            key=lambda stood: (stood.was_found, len(stood.before)),
        )
        for place in {*one, *other}
    }


def track(text: Sequence[int], places: TracedText, where: Mapping[int, Stood], hopes: bool) -> RecordedText:
    """Build a track. `hopes`: assume that everything unknown favours the draft."""
    said = [hopes if known is None else known for known in places.said]
    preferred = [
        (token, *_ELSE) if is_right else _listed(token, places.refused.get(place), where.get(place), hopes)
        for place, (token, is_right) in enumerate(zip(text, said, strict=True))
    ]
    written = Written(places.prompt_tokens, text, places.room, text[-1:] if places.has_ended else ())
    return replace(places.text(hopes), seen=NOTHING_SEEN, written=written, preferred=preferred)


def _listed(token: int, favourite: int | None, stood: Stood | None, hopes: bool) -> tuple[int, ...]:
    """List what the draft prefers where its favourite is not the target's token."""
    before = dict.fromkeys([] if favourite is None else [favourite])
    before |= dict.fromkeys(stood.before if stood else ())
    is_known = stood.was_found if stood else False
    return (*(before or _ELSE[:1]), *([token] if is_known or hopes else []), *_ELSE[1:])


@dataclass(frozen=True)
class SsdTracks:
    """Tracks of every prompt in both cases, and SSD's costs on this machine."""

    refused: Sequence[RecordedText]
    accepted: Sequence[RecordedText]
    undrafted: Sequence[float]  # seconds that autoregressive takes for each text
    prices: CostModel
    is_beside: bool  # the draft ran beside the target
    at: Mapping[int, CostModel] = field(default_factory=dict)  # by number of users, from 2 up

    def play(self, choice: Choice, users: int, costs: CostModel) -> tuple[Simulated, Simulated]:
        """Play a choice for so many users in both cases. `costs` are those of passes that several texts share."""
        plan, cases = self.plan(choice), (self.refused, self.accepted)
        if users == 1:
            low, high = (simulate(tracks, plan, self.prices, self.is_beside) for tracks in cases)
        else:
            prices = self.prices_for(users, costs)
            low, high = (simulate_together(tracks, plan, prices, users, self.is_beside) for tracks in cases)
        return low, high

    def plan(self, choice: Choice) -> Plan:
        """Make the plan of a choice. If its backup cannot be replayed, the draft model drafts instead."""
        assert choice.ahead
        settings = choice.ahead
        if not self.can_replay_backup(settings.backup):
            settings = replace(settings, backup="neural")
        return Plan(settings, random_tokens=lambda seed, text, count: [_REFUSED] * count)

    def can_replay_backup(self, backup: str) -> bool:
        """Whether the traces tell what drafts after a miss. Copies need the prompt's tokens."""
        return backup == "neural" or all(text.written and text.written.prompt for text in self.refused)

    def prices_for(self, users: int, costs: CostModel) -> CostModel:
        """Prices for so many users: preparing costs what it did at the largest load that ran and is no larger."""
        loads = [load for load in self.at if load <= users]
        return self.at[max(loads)] if loads else undisturbed(costs, self.prices, costs)


def mean_hit_rate(*cases: Simulated) -> float | None:
    rates = [case.hit_rate for case in cases if case.hit_rate is not None]
    return statistics.mean(rates) if rates else None


def ssd_tracks_of(
    texts: Sequence[tuple[Sequence[int], TracedText, Mapping[int, Stood]]],
    priced: Sequence[Sequence[Event]],
    ahead: Sequence[Sequence[Event]],
    undrafted: Callable[[int], float],
    *,
    is_beside: bool,
) -> SsdTracks | None:
    """Build the tracks of both cases. Return None if no SSD run was long enough to measure its costs."""
    if not any(isinstance(event, Anticipated) and event.round > 1 and event.passes > 1 for t in ahead for event in t):
        return None
    heads = [(text[:LONGEST], places.head(LONGEST), where) for text, places, where in texts]
    few = heads[:: max(1, round(sum(len(text) for text, _, _ in heads) / MOST_TOKENS))]
    refused, accepted = ([track(*of, hopes=hopes) for of in few] for hopes in (False, True))
    seconds = [undrafted(len(text)) for text, _, _ in few]
    return SsdTracks(refused, accepted, seconds, prices_beside(costs_from(priced), ahead), is_beside)
