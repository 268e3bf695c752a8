"""What if: any lookahead or stop rule on texts that were recorded once, counted exactly. Standard library only; no
model runs. `decoding.costs` prices the counts.

A record knows, for every place of the target's text, whether the draft would have said the same. A round that starts
at some place is then decided by one number: how many tokens the policy drafts there. Under greedy or shared dice the
counts are those of a live run; the price is an estimate as good as the measured costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """One prompt's text, seen by the draft. `runs[i]` is how many tokens in a row, from token i on, the draft would
    have said as the target did."""

    runs: tuple[int, ...]
    limits: tuple[int, ...]  # the most tokens a round may draft there: room, and the draft's own end of text

    @classmethod
    def of(
        cls,
        matches: Sequence[bool],
        max_new_tokens: int | None = None,
        tails: Mapping[int, int] | None = None,
        ended: bool = False,
    ) -> Record:
        """`tails` says, for places without a match, how many tokens the draft would go on to say before it ended the
        text itself, where it would; `ended` that the text's last token is an end token."""
        room, tails = max_new_tokens or len(matches), tails or {}
        if room < len(matches):
            raise ValueError(f"a text of {len(matches)} tokens where at most {room} were asked for")
        runs, limits = [0] * (len(matches) + 1), [0] * len(matches)
        for i in reversed(range(len(matches))):
            runs[i] = runs[i + 1] + 1 if matches[i] else 0
            miss = i + runs[i]
            if miss < len(matches):
                own_end = runs[i] + 1 + tails.get(miss, room)
            else:
                own_end = runs[i] if ended else room
            limits[i] = min(room - i - 1, own_end)
        return cls(tuple(runs[:-1]), tuple(limits))


@dataclass
class Counts:
    """How often each kind of pass would run."""

    tokens: int = 0
    rounds: Counter[int] = field(default_factory=Counter)  # drafted tokens -> rounds with that many
    accepted: int = 0
    catch_ups: int = 0  # first draft passes of two rows: the draft had not seen the last token it got accepted
    parts: list[Counts] = field(default_factory=list, compare=False, repr=False)  # of each record, where it is a sum

    @property
    def target_passes(self) -> int:
        return self.rounds.total()

    @property
    def draft_passes(self) -> int:
        return sum(drafted * rounds for drafted, rounds in self.rounds.items())

    def add(self, part: Counts) -> None:
        self.tokens += part.tokens
        self.rounds.update(part.rounds)
        self.accepted += part.accepted
        self.catch_ups += part.catch_ups
        self.parts.append(part)


def replay(records: Iterable[Record], policy: Callable[[int], Policy]) -> Counts:
    """Count every pass. `policy(i)` makes a fresh policy for record i, so that nothing is carried between prompts."""
    total = Counts()
    for index, record in enumerate(records):
        total.add(_play(record, policy(index)))
    return total


class Policy:
    """How many tokens a round drafts. `after` is told how the round went."""

    def length(self, start: int) -> int:
        raise NotImplementedError

    def after(self, drafted: int, accepted: int) -> None:
        pass


@dataclass
class Static(Policy):
    lookahead: int

    def length(self, start: int) -> int:
        return self.lookahead


@dataclass
class HeuristicPolicy(Policy):
    lookahead: int

    def length(self, start: int) -> int:
        return self.lookahead

    def after(self, drafted: int, accepted: int) -> None:
        if drafted:
            self.lookahead = self.lookahead + 2 if accepted == drafted else max(1, self.lookahead - 1)


@dataclass
class ByPlace(Policy):
    """A policy that decides by where it stands: the table holds a draft length for every start."""

    lengths: Sequence[int]

    def length(self, start: int) -> int:
        return self.lengths[start]


@dataclass
class OraclePolicy(Policy):
    """Stops at the first token that will be refused."""

    record: Record
    cap: int

    def length(self, start: int) -> int:
        return min(self.cap, self.record.runs[start] + 1)


def _play(record: Record, policy: Policy) -> Counts:
    counts = Counts(tokens=len(record.runs))
    runs, limits, end = record.runs, record.limits, len(record.runs)
    at, behind = 0, False
    while at < end:
        drafted = min(policy.length(at), limits[at])
        accepted = min(drafted, runs[at])
        counts.rounds[drafted] += 1
        counts.accepted += accepted
        counts.catch_ups += behind and drafted > 0
        policy.after(drafted, accepted)
        behind = (accepted == drafted and drafted > 0) or (behind and drafted == 0)
        at += accepted + 1
    return counts
