"""Replay at load: what a policy does when several users ask at once, from texts that were recorded for one.

The batch is played as the loop plays it (`decoding.loop.Batch`): joint draft steps for all that still draft, then one
joint verification, in which a piece of each unread prompt takes part. The policies are those of the engine, and the
times are measured costs. Standard library only.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from decoding.crowd import Crowd
from decoding.replay.joint_costs import JointCosts
from decoding.replay.records import NOTHING_SEEN, Draft, Record, Seen, draft_length, row_of
from decoding.strategy import Policy
from decoding.tree_shapes import Ranked, TreePolicy, TreeRound

PIECE = 64  # tokens of prompts that one round reads, as in the loop


@dataclass(frozen=True)
class Recorded:
    """One request: its text as the draft sees it, and what a policy may see of it."""

    record: Record
    prompt_tokens: int
    seen: Seen = NOTHING_SEEN
    ranked: Ranked | None = None  # the text as trees see it

    @property
    def tokens(self) -> int:
        return len(self.record.runs)


@dataclass
class Played:
    """Times of one request, in seconds since it arrived."""

    tokens: int
    first: float
    end: float


@dataclass
class Run:
    """All requests of one strategy at one load, in the order in which they were given."""

    users: int
    requests: list[Played] = field(default_factory=list)

    @property
    def tokens_per_s_device(self) -> float:
        """Little's law, as in `measure.latency`."""
        return self.users * sum(r.tokens for r in self.requests) / sum(r.end for r in self.requests)


@dataclass(frozen=True)
class _Round:
    """One round's draft of one text."""

    steps: Sequence[int]  # rows of each pass of the draft
    kept: int  # drafted tokens that are verified


class _Text(ABC):
    def __init__(self, request: Recorded, now: float, end: int) -> None:
        self.request, self.began, self.end = request, now, end
        self.at = 0
        self.unread = request.prompt_tokens - 1
        self.first = 0.0

    @property
    def begins_to_draft(self) -> bool:
        """Whether the draft model now reads the prompt, which the target has read."""
        return self.unread <= 0

    @abstractmethod
    def draft(self) -> _Round: ...

    @abstractmethod
    def settle(self, kept: int) -> int:
        """Take the verdict, and return how many tokens the text gained."""

    def _grow(self, accepted: int) -> int:
        gained = min(accepted + 1, self.end - self.at)
        self.at += gained
        return gained


class _Chain(_Text):
    def __init__(self, request: Recorded, policy: Policy, crowd: Crowd, now: float, end: int) -> None:
        super().__init__(request, now, end)
        self.policy = policy
        policy.crowd = crowd

    @property
    def begins_to_draft(self) -> bool:
        return super().begins_to_draft and not self.policy.rests

    def draft(self) -> _Round:
        self.policy.begin(lambda: self.request.seen.words(self.at))
        record = self.request.record
        self._row = row_of(record.runs[self.at], self.policy, self.request.seen, self.at)
        room = min(record.limits[self.at], self.end - self.at - 1)
        drafted = draft_length(self.policy, self._row, room, self.request.seen.is_whole)
        return _Round([1] * drafted, min(drafted, self.policy.keeps(drafted)))

    def settle(self, kept: int) -> int:
        accepted = min(kept, self.request.record.runs[self.at])
        confidence = self._row[:kept] if self.policy.sees == "confidence" else ()
        self.policy.judged(Draft(range(kept), confidence), accepted)
        return self._grow(accepted)


class _Tree(_Text):
    def __init__(self, request: Recorded, policy: TreePolicy, now: float, end: int) -> None:
        super().__init__(request, now, end)
        assert request.ranked, "a tree needs the ranks of the text's tokens"
        self._rounds = request.ranked.rounds(policy)
        self._played: TreeRound

    def draft(self) -> _Round:
        self._played = next(self._rounds)
        return _Round(self._played.steps, len(self._played.shape))

    def settle(self, kept: int) -> int:
        return self._grow(len(self._played.path))


def _text(request: Recorded, policy: Policy | TreePolicy, crowd: Crowd, now: float, end: int) -> _Text:
    if isinstance(policy, TreePolicy):
        return _Tree(request, policy, now, end)
    return _Chain(request, policy, crowd, now, end)


def play(
    requests: Sequence[Recorded],
    policy: Callable[[], Policy | TreePolicy],
    costs: JointCosts,
    users: int,
    decision: float = 0.0,
    *,
    drafts: bool = True,
) -> Run:
    """Play every request once, with `users` under way at any time. Requests that fill and empty the machine are not
    counted, as in a comparison. `decision` is the time of one look at a drafted token, or of a tree's token besides its
    passes, and `drafts` says whether a draft model reads the prompts."""
    crowd = Crowd(costs)
    queue = deque(_stream(requests, users))
    done, now, growing = dict[int, Played](), 0.0, list[tuple[_Text, int | None]]()
    while len(done) < len(requests):
        while len(growing) < users:
            request, end, number = queue.popleft()
            growing.append((_text(request, policy(), crowd, now, end), number))
            if len(queue) < users:
                queue.append((request, request.tokens, None))  # keeps the machine full
        texts = [text for text, _ in growing]
        reading = [text for text in texts if text.unread > 0]
        now += _round(texts, crowd, costs, now, decision)
        now += sum(costs.reading(text.request.prompt_tokens) for text in reading if drafts and text.begins_to_draft)
        for text, number in growing:
            if text.at >= text.end and number is not None:
                done[number] = Played(text.end, text.first - text.began, now - text.began)
        growing = [(text, number) for text, number in growing if text.at < text.end]
    return Run(users, [done[number] for number in range(len(requests))])


def _stream(requests: Sequence[Recorded], users: int) -> Iterator[tuple[Recorded, int, int | None]]:
    """Requests with the length of their texts and their number, None for those that do not count: first some that end
    at different times."""
    if users > 1:
        for number in range(1, users + 1):
            request = requests[-(number % len(requests)) - 1]
            yield request, max(1, request.tokens * number // users), None
    for number, request in enumerate(requests):
        yield request, request.tokens, number
    for number in range(users):
        request = requests[number % len(requests)]
        yield request, request.tokens, None


def _round(texts: Sequence[_Text], crowd: Crowd, costs: JointCosts, now: float, decision: float) -> float:
    """Play one round, and return its seconds."""
    ready = [text for text in texts if text.unread <= 0]
    crowd.begin(len(ready))
    drafts = [text.draft() for text in ready]
    seconds = sum(map(costs.drafting, _rows(drafts))) + decision * sum(_looks(draft) for draft in drafts)
    pieces = _pieces(texts, PIECE if ready else 10**9)
    rows = sum(draft.kept + 1 for draft in drafts) + sum(pieces.values())
    seconds += costs.verifying(len(ready) + len(pieces), rows) + costs.resting(max(1, len(ready)))
    for text, draft in zip(ready, drafts, strict=True):
        text.settle(draft.kept)
        text.first = text.first or now + seconds
    for text, count in pieces.items():
        text.unread -= count
    if ready:
        crowd.played([len(draft.steps) for draft in drafts])
    return seconds


def _rows(drafts: Sequence[_Round]) -> list[int]:
    """Rows of each joint pass of the draft."""
    return [sum(rows) for rows in itertools.zip_longest(*(draft.steps for draft in drafts), fillvalue=0)]


def _looks(draft: _Round) -> int:
    """Tokens that are drafted: a tree's are as many as are verified."""
    return max(len(draft.steps), draft.kept)


def _pieces(texts: Sequence[_Text], most: int) -> dict[_Text, int]:
    pieces: dict[_Text, int] = {}
    for text in texts:
        if text.unread > 0 and most:
            pieces[text] = min(most, text.unread)
            most -= pieces[text]
    return pieces
