"""Replay of strategies that mix copies and the draft model. Standard library only.

Their decisions depend on times, so a clock advances by the measured costs while they are replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from decoding.mixing import Judgement, Mix, Mixing
from decoding.proposing import Proposer
from decoding.replay.costs import Costs
from decoding.replay.records import Counts, Proposed, Record, Seen


@dataclass(frozen=True)
class Text:
    """One prompt's text as both sources see it."""

    proposed: Callable[[Proposer], Proposed]
    record: Record
    seen: Seen


def replay_mixed(texts: Iterable[Text], mix: Callable[[Callable[[], int]], Mix], costs: Costs) -> Counts:
    """Count every pass. `mix` gets the clock and returns what one text needs; it may remember earlier texts.

    What the draft model would add to a copy that the target refuses is not recorded. Its length is taken from the same
    position of the text.
    """
    total = Counts()
    clock = _Clock(costs)
    for text in texts:
        made = mix(clock.now)
        total.add(_Playing(text, text.proposed(made.proposer), made.policy, clock).counts())
    return total


@dataclass
class _Clock:
    """Time that the passes take."""

    costs: Costs
    seconds: float = 0.0

    def now(self) -> int:
        return round(self.seconds * 1e9)


@dataclass
class _Playing:
    text: Text
    proposed: Proposed
    policy: Mixing
    clock: _Clock
    _late: int = field(default=1, init=False)  # committed tokens that the draft model has not read

    def counts(self) -> Counts:
        counts, at = Counts(tokens=len(self.proposed)), 0
        while at < len(self.proposed):
            at += self._round(at, counts)
        return counts

    def _round(self, at: int, counts: Counts) -> int:
        """Play one round. Return how many tokens it adds to the text."""
        policy = self.policy
        agreed, found = self.proposed.at(at)
        if policy.sees == "fate":
            policy.foresees(self.text.record.runs[at])
        taken = policy.takes(self._estimates(agreed, found))
        place = min(at + taken, len(self.proposed) - 1)
        run = self.text.record.runs[place] if taken <= agreed else 0
        began = self.clock.now()
        drafted = self._draft(place, run, taken, counts)
        drafting = self.clock.now() - began
        accepted = min(taken, agreed) + (min(run, drafted) if taken <= agreed else 0)
        self._verify(Judgement(taken, drafted, drafted, accepted, drafting=drafting), counts)
        shown = min(found, accepted + 1, len(self.proposed) - at)
        policy.looked_back(min(agreed, shown), shown)
        return accepted + 1

    def _estimates(self, agreed: int, found: int) -> Sequence[float]:
        if self.policy.sees == "fate":
            return [1.0] * agreed + [0.0] * (found > agreed)  # up to the first that the target refuses
        return self.proposed.proposer.estimates[:found]

    def _draft(self, place: int, run: int, taken: int, counts: Counts) -> int:
        """Let the draft model draft from here. Return how many tokens it adds."""
        policy, clock, costs = self.policy, self.clock, self.clock.costs
        policy.begin(lambda: self.text.seen.words(place))
        fates = [*[1.0] * run, 0.0]
        row = fates if policy.sees == "fate" else self.text.seen.row(place)
        drafted, rows = 0, self._late + taken
        most = min(policy.lookahead, self.text.record.limits[place])
        most = most if self.text.seen.is_whole else min(most, len(row))
        while drafted < most:
            first = costs.draft_round + costs.catching_up(rows) if not drafted else 0.0
            clock.seconds += first + costs.draft + costs.looking(policy.sees)
            drafted += 1
            if drafted <= len(row) and policy.stops(row[drafted - 1]):
                break
        if drafted:
            counts.catch_ups += rows > 1
            counts.late_rows += max(0, rows - 2)
        return drafted

    def _verify(self, round: Judgement, counts: Counts) -> None:
        whole, costs = round.copied + round.drafted, self.clock.costs
        took = costs.verify(whole + 1)
        self.clock.seconds += took + costs.round
        counts.rounds[whole] += 1
        counts.accepted += round.accepted
        counts.copied += round.copied
        counts.copied_rounds += not round.drafted and round.copied > 0
        missed = 1 + (round.accepted == whole)
        self._late = missed if round.drafted else self._late + round.accepted + 1
        self.policy.verified(replace(round, took=took * 1e9))
