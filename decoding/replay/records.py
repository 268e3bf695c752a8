"""Replay: any policy on texts that were recorded once, counted exactly. Standard library only.

No model runs; `replay.costs` turns the counts into seconds. A record says, for every position of the target's text,
whether the draft would propose the same token. So the position where a round starts and the number of tokens that the
policy drafts there decide the round. Under greedy or shared dice the counts equal those of a live run; the seconds are
as good as the measured costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from decoding.strategy import Policy


@dataclass(frozen=True)
class Record:
    """One prompt's text as the draft sees it. `runs[i]` is how many tokens in a row, from token i on, the draft would
    propose as the target did."""

    runs: tuple[int, ...]
    limits: tuple[int, ...]  # most tokens to draft from token i on: until the room ends, or the draft itself

    @classmethod
    def of(
        cls,
        matches: Sequence[bool],
        max_new_tokens: int | None = None,
        tails: Mapping[int, int] | None = None,
        ended: bool = False,
    ) -> Record:
        """Make a record from `matches`. `tails` gives, for positions without a match, how many tokens the draft would
        add up to and including its own end token, if it would end. `ended`: the text's last token is an end token."""
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
    rounds: Counter[int] = field(default_factory=Counter)  # drafted tokens -> number of rounds
    accepted: int = 0
    catch_ups: int = 0  # first draft passes with two rows: the draft had not seen the last accepted token
    parts: list[Counts] = field(default_factory=list, compare=False, repr=False)  # the counts of each record

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


@dataclass(frozen=True)
class Seen:
    """Numbers and words that a policy may see of one text."""

    row: Callable[[int], Sequence[float]] = lambda start: ()  # one number per token of a round that starts here
    words: Callable[[int], str] = lambda start: ""  # the last words before this position
    is_whole: bool = True  # False: a row may end early, where no run drafted further; the draft then ends there


NOTHING_SEEN = Seen()


@dataclass
class Draft:
    """Draft of a round, as a policy sees it."""

    tokens: Sequence[int]
    confidence: Sequence[float] = ()


def replay(
    records: Iterable[Record], policy: Callable[[], Policy], seen: Callable[[int], Seen] = lambda i: NOTHING_SEEN
) -> Counts:
    """Count every pass. Each record gets its own policy, so nothing carries over between prompts. `seen(i)` is what
    the policy may see of record i."""
    total = Counts()
    for index, record in enumerate(records):
        total.add(_play(record, policy(), seen(index)))
    return total


def _play(record: Record, policy: Policy, seen: Seen) -> Counts:
    counts = Counts(tokens=len(record.runs))
    runs, limits, end = record.runs, record.limits, len(record.runs)
    at, behind = 0, False
    while at < end:
        policy.begin(lambda place=at: seen.words(place))  # type: ignore[misc]
        row = row_of(record, policy, seen, at)
        drafted = draft_length(policy, row, limits[at], seen.is_whole)
        accepted = min(drafted, runs[at])
        counts.rounds[drafted] += 1
        counts.accepted += accepted
        counts.catch_ups += behind and drafted > 0
        policy.judged(Draft(range(drafted), row[:drafted] if policy.sees == "confidence" else ()), accepted)
        behind = (accepted == drafted and drafted > 0) or (behind and drafted == 0)
        at += accepted + 1
    return counts


def row_of(record: Record, policy: Policy, seen: Seen, start: int) -> Sequence[float]:
    """Numbers that the policy sees, one per token that it drafts from `start`."""
    if policy.sees == "fate":
        return [*[1.0] * min(record.runs[start], policy.lookahead), 0.0]
    return seen.row(start) if policy.sees != "nothing" else ()


def draft_length(policy: Policy, row: Sequence[float], room: int, is_whole: bool) -> int:
    """How many tokens the policy drafts."""
    most = min(policy.lookahead, room)
    if policy.sees == "nothing":
        return most
    for drafted, number in enumerate(row[:most], start=1):
        if policy.stops(number):
            return drafted
    return most if is_whole else min(most, max(1, len(row)))
