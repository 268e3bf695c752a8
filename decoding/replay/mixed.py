"""Replay of strategies that mix copies and the draft model. Standard library only.

Their decisions depend on times, so a clock advances by the measured costs while they are replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from decoding.mixing import Judgement, Mix, Mixing
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.proposing import Proposer
from decoding.replay.records import Proposed, Record, Seen


@dataclass(frozen=True)
class Text:
    """One prompt's text as both sources see it."""

    proposed: Callable[[Proposer], Proposed]
    record: Record
    seen: Seen


def replay_mixed(texts: Iterable[Text], mix: Callable[[Callable[[], int]], Mix], costs: CostModel) -> Counts:
    """Count every pass. `mix` gets the clock and returns what one text needs; it may remember earlier texts.

    What the draft model would add to a copy that the target refuses is not recorded. Its length is taken from the same
    position of the text.
    """
    total, clock = Counts(), Clock()
    for text in texts:
        made = mix(clock.now)
        playing = Playing(text, text.proposed(made.proposer), made.policy, clock)
        total.add(_counts(playing, costs))
    return total


@dataclass
class Clock:
    """Time that the passes take."""

    seconds: float = 0.0

    def now(self) -> int:
        return round(self.seconds * 1e9)


@dataclass
class Playing:
    """One text, round by round. Whoever drives it lets the clock go on by each pass."""

    text: Text
    proposed: Proposed
    policy: Mixing
    clock: Clock
    copied: int = field(default=0, init=False)  # tokens of this round's draft
    drafted: int = field(default=0, init=False)  # tokens that the draft model added
    rows: int = field(default=0, init=False)  # of the draft model's first pass
    _late: int = field(default=1, init=False)  # committed tokens that the draft model has not read

    def drafting(self, at: int, room: int = sys.maxsize) -> Iterator[int]:
        """Draft, and yield the rows of each pass of the draft model."""
        policy, began = self.policy, self.clock.now()
        agreed, found = self.proposed.at(at)
        self._at, self._agreed, self._found = at, min(agreed, room), min(found, room)
        if policy.sees == "fate":
            policy.foresees(self.text.record.runs[at])
        self.copied = policy.takes(self._estimates())
        place = min(at + self.copied, len(self.proposed) - 1)
        self._run = self.text.record.runs[place] if self.copied <= self._agreed else 0
        self.rows = self._late + self.copied
        yield from self._by_model(place, room - self.copied)
        self._ready = self.clock.now()
        self._drafting = self._ready - began

    def _estimates(self) -> Sequence[float]:
        if self.policy.sees == "fate":  # up to the first that the target refuses
            return [1.0] * self._agreed + [0.0] * (self._found > self._agreed)
        return self.proposed.proposer.estimates[: self._found]

    def _by_model(self, place: int, room: int) -> Iterator[int]:
        """Let the draft model draft from here."""
        policy = self.policy
        policy.begin(lambda: self.text.seen.words(place))
        fates = [*[1.0] * self._run, 0.0]
        row = fates if policy.sees == "fate" else self.text.seen.row(place)
        most = min(policy.lookahead, self.text.record.limits[place], room)
        most = most if self.text.seen.is_whole else min(most, len(row))
        self.drafted = 0
        while self.drafted < most:
            yield 1 if self.drafted else self.rows
            self.drafted += 1
            if self.drafted <= len(row) and policy.stops(row[self.drafted - 1]):
                break

    def verified(self) -> Judgement:
        """Take the verdict, which comes now."""
        whole, accepted = self.copied + self.drafted, min(self.copied, self._agreed)
        if self.copied <= self._agreed:
            accepted += min(self._run, self.drafted)
        took = self.clock.now() - self._ready
        verdict = Judgement(self.copied, self.drafted, self.drafted, accepted, took, self._drafting)
        self._late = 1 + (accepted == whole) if self.drafted else self._late + accepted + 1
        self.policy.verified(verdict)
        shown = min(self._found, accepted + 1, len(self.proposed) - self._at)
        self.policy.looked_back(min(self._agreed, shown), shown)
        return verdict


def _counts(playing: Playing, costs: CostModel) -> Counts:
    """Play a text for one user, and count its passes."""
    counts, at = Counts(tokens=len(playing.proposed)), 0
    while at < len(playing.proposed):
        _draft(playing, at, costs)
        playing.clock.seconds += costs.verify(1, playing.copied + playing.drafted + 1)
        verdict = playing.verified()
        is_weighed = playing.policy.sees != "fate"  # the clock stops while a bound peeks
        playing.clock.seconds += costs.fixed(1) + costs.mixing * is_weighed
        counts.mixed += is_weighed
        _note(counts, verdict, playing.rows)
        at += verdict.accepted + 1
    return counts


def _draft(playing: Playing, at: int, costs: CostModel) -> None:
    each = costs.draft(1) + costs.look(playing.policy.sees)
    for number, rows in enumerate(playing.drafting(at)):
        first = costs.beginning(1) + costs.catching_up(rows) if not number else 0.0
        playing.clock.seconds += first + each


def _note(counts: Counts, verdict: Judgement, rows: int) -> None:
    counts.rounds[verdict.copied + verdict.drafted] += 1
    counts.accepted += verdict.accepted
    counts.copied += verdict.copied
    counts.copied_rounds += not verdict.drafted and verdict.copied > 0
    if verdict.drafted:
        counts.catch_ups += rows > 1
        counts.late_rows += max(0, rows - 2)
