"""Replay: any policy on texts that were recorded once, counted exactly. Standard library only.

No model runs; `replay.costs` turns the counts into seconds. A record says, for every position of the target's text,
whether the draft would propose the same token. So the position where a round starts and the number of tokens that the
policy drafts there decide the round. Under greedy or shared dice the counts equal those of a live run; the seconds are
as good as the measured costs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar

from decoding.prices.counts import Counts
from decoding.proposing import Proposer, usable
from decoding.strategy import Policy
from decoding.tree_shapes import Ranked, TreePolicy


@dataclass(frozen=True)
class Record:
    """One prompt's text as the draft sees it. `runs[i]` is how many tokens in a row, from token i on, the draft would
    propose as the target did."""

    runs: tuple[int, ...]
    limits: tuple[int, ...]  # most tokens to draft from token i on: until the room ends, or the draft itself
    own_ends: tuple[int, ...] = ()  # how many tokens the draft from token i has up to its own end token, if it has room
    is_copied: bool = False  # a proposer makes the drafts, and no draft model runs

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
        runs, limits, own_ends = [0] * (len(matches) + 1), [0] * len(matches), [0] * len(matches)
        for i in reversed(range(len(matches))):
            runs[i] = runs[i + 1] + 1 if matches[i] else 0
            miss = i + runs[i]
            if miss < len(matches):
                own_ends[i] = runs[i] + 1 + tails.get(miss, room)
            else:
                own_ends[i] = runs[i] if ended else room
            limits[i] = min(room - i - 1, own_ends[i])
        return cls(tuple(runs[:-1]), tuple(limits), tuple(own_ends))

    def __len__(self) -> int:
        return len(self.runs)

    def at(self, place: int) -> tuple[int, int]:
        """Return run and limit of a round that starts here."""
        return self.runs[place], self.limits[place]


@dataclass(frozen=True)
class Proposed:
    """One prompt's text as a proposer sees it: the counterpart of `Record`. Read it once, from its start on."""

    proposer: Proposer
    prompt: Sequence[int]
    text: Sequence[int]
    room: int  # most tokens that the text could have had
    ends: Collection[int] = ()
    is_copied: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.text)

    def at(self, place: int) -> tuple[int, int]:
        self.proposer.follow([*self.prompt, *self.text[:place]])
        found = usable(self.proposer.propose(), self.room - place - 1, self.ends)
        pairs = zip(found, self.text[place : place + len(found)], strict=False)
        agreed = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return agreed, len(found)

    def record(self) -> Record:
        """Look at every position, for studies that need them all."""
        runs, limits = zip(*map(self.at, range(len(self))), strict=True)
        return Record(runs, limits, is_copied=True)


class WholeProposal(Policy):
    """Takes all that a proposer proposes."""

    lookahead = sys.maxsize


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
    records: Iterable[Record | Proposed],
    policy: Callable[[], Policy],
    seen: Callable[[int], Seen] = lambda i: NOTHING_SEEN,
) -> Counts:
    """Count every pass. Each record gets its own policy, so nothing carries over between prompts. `seen(i)` is what
    the policy may see of record i."""
    total = Counts()
    for index, record in enumerate(records):
        total.add(_play(record, policy(), seen(index)))
    return total


def _play(record: Record | Proposed, policy: Policy, seen: Seen) -> Counts:
    counts = Counts(tokens=len(record))
    at, behind = 0, False
    while at < len(record):
        policy.begin(lambda place=at: seen.words(place))  # type: ignore[misc]
        run, limit = record.at(at)
        row = row_of(run, policy, seen, at)
        drafted = draft_length(policy, row, limit, seen.is_whole)
        accepted = min(drafted, run)
        counts.rounds[drafted] += 1
        counts.accepted += accepted
        if record.is_copied:
            counts.copied += drafted
            counts.copied_rounds += drafted > 0
        else:
            counts.catch_ups += behind and drafted > 0
        policy.judged(Draft(range(drafted), row[:drafted] if policy.sees == "confidence" else ()), accepted)
        behind = (accepted == drafted and drafted > 0) or (behind and drafted == 0)
        at += accepted + 1
    return counts


def replay_trees(texts: Iterable[Ranked], policy: Callable[[], TreePolicy]) -> Counts:
    """Count every pass of drafts that are trees."""
    total = Counts()
    for text in texts:
        counts, is_behind = Counts(tokens=len(text)), False
        for played in text.rounds(policy()):
            size, depth = len(played.shape), played.shape.depth
            counts.rounds[size] += 1
            counts.accepted += len(played.path)
            counts.trees += size > 0
            counts.in_trees += size
            counts.branched += size - depth
            counts.catch_ups += is_behind and size > 0
            is_behind = played.shape.ends(played.path) or (is_behind and not size)
        total.add(counts)
    return total


def row_of(run: int, policy: Policy, seen: Seen, start: int) -> Sequence[float]:
    """Numbers that the policy sees, one per token that it drafts from `start`."""
    if policy.sees == "fate":
        return [*[1.0] * min(run, policy.lookahead), 0.0]
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
