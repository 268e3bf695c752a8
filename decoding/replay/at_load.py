"""Replay at load: what a strategy does when several users ask at once, from texts that were recorded for one.

The batch is played as `decoding.core.loop.Batch` plays it: joint draft steps for all that still draft, then one joint
verification, in which a piece of each unread prompt takes part. The sources are those of the engine, and the
times are measured costs. Standard library only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from decoding.choice import Choice
from decoding.core.batch_state import BatchState
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Source
from decoding.prices.cost_model import CostModel
from decoding.replay.player import PassClock
from decoding.replay.texts_at_load import RoundCounts, Sourced, TextAtLoad


class OwnWork(NamedTuple):
    """Seconds of work that the texts of a batch do not share."""

    token: float = 0.0  # of each drafted token: a look at it, or its place in a tree
    round: float = 0.0  # of each round: growing a tree, or weighing two sources
    late_row: float = 0.0  # of each token beyond the usual that the draft model must read first

    @classmethod
    def of(cls, choice: Choice, costs: CostModel, texts: int = 1) -> OwnWork:
        """Return the work of a text under this choice, among so many."""
        if choice.spec.branches:
            return cls(token=costs.in_tree, round=costs.tree)
        return cls(costs.look(choice.sees), costs.mixing if choice.spec.weighs else 0.0, costs.late_row(texts))


NOTHING_ELSE = OwnWork()
PIECE = 64  # tokens of prompts that one round reads, as in the loop


@dataclass
class PlayedRequest:
    """Times of one request, in seconds since it arrived."""

    tokens: int
    first: float
    end: float
    rounds: Sequence[RoundCounts] = ()


@dataclass
class PlayedRun:
    """All requests of one strategy at one load, in the order in which they were given."""

    users: int
    requests: list[PlayedRequest] = field(default_factory=list)

    @property
    def tokens_per_s_device(self) -> float:
        """Little's law, as in `measure.latency`."""
        return self.users * sum(r.tokens for r in self.requests) / sum(r.end for r in self.requests)


def play(
    requests: Sequence[RecordedText],
    source: Callable[[], Source],
    costs: CostModel,
    users: int,
    own: OwnWork = NOTHING_ELSE,
    *,
    drafts: bool = True,
) -> PlayedRun:
    """Play every request once, with `users` under way at any time. Requests that fill and empty the machine are not
    counted, as in a comparison. `own` is the time of work that texts do not share, and `drafts` says whether a draft
    model reads the prompts."""
    batch, clock = BatchState(costs.with_looks(own.token)), PassClock()

    def step(texts: Sequence[TextAtLoad]) -> None:
        reading = [text for text in texts if text.unread > 0]
        _round(texts, batch, costs, clock, own)
        clock.seconds += sum(
            costs.read(text.request.prompt_tokens) for text in reading if drafts and text.begins_to_draft
        )

    def begin(request: RecordedText, end: int) -> TextAtLoad:
        return Sourced(request, clock.seconds, end, source(), batch, clock)

    return serve(requests, begin, step, users, clock)


def serve(
    requests: Sequence[RecordedText],
    begin: Callable[[RecordedText, int], TextAtLoad],
    step: Callable[[Sequence[TextAtLoad]], None],
    users: int,
    clock: PassClock,
) -> PlayedRun:
    """Let every request grow to its end among so many. `begin` makes a text of so many tokens; `step` plays a round of
    all that are under way."""
    queue = deque(stream(requests, users))
    done, growing = dict[int, PlayedRequest](), list[tuple[TextAtLoad, int | None]]()
    while len(done) < len(requests):
        while len(growing) < users:
            request, end, number = queue.popleft()
            growing.append((begin(request, end), number))
            if len(queue) < users:
                queue.append((request, request.tokens, None))  # keeps the machine full
        step([text for text, _ in growing])
        for text, number in growing:
            if text.at >= text.end and number is not None:
                done[number] = PlayedRequest(text.end, text.first - text.began, clock.seconds - text.began, text.rounds)
        growing = [(text, number) for text, number in growing if text.at < text.end]
    return PlayedRun(users, [done[number] for number in range(len(requests))])


def stream(requests: Sequence[RecordedText], users: int) -> Iterator[tuple[RecordedText, int, int | None]]:
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


def _round(texts: Sequence[TextAtLoad], batch: BatchState, costs: CostModel, clock: PassClock, own: OwnWork) -> None:
    """Play one round of every text."""
    ready = [text for text in texts if text.unread <= 0]
    batch.begin(len(ready))
    passes = _drafted(ready, costs, clock, own)
    pieces = pieces_of(texts, PIECE if ready else 10**9)
    rows = sum(text.drafted + 1 for text in ready)
    clock.seconds += costs.passing(len(ready), rows, len(pieces), sum(pieces.values()))
    for text, count in zip(ready, passes, strict=True):
        before = text.at
        text.settle(count)
        clock.seconds += costs.chances(text.request.prompt_tokens, before, text.at)
    clock.seconds += costs.fixed(max(1, len(ready))) + own.round * len(ready)
    for text in ready:
        text.first = text.first or clock.seconds
    for text, count in pieces.items():
        text.read(count)
    if ready:
        batch.note_round(passes)


def _drafted(texts: Sequence[TextAtLoad], costs: CostModel, clock: PassClock, own: OwnWork) -> list[int]:
    """Let all texts draft, in passes that those share which still draft. Return how many each took."""
    steps, counts = [text.drafting() for text in texts], [0] * len(texts)
    while passes := {number: one for number, step in enumerate(steps) if (one := next(step, None))}:
        clock.seconds += costs.draft(len(passes))
        clock.seconds += sum(own.token * one.tokens + own.late_row * one.late for one in passes.values())
        for number in passes:
            counts[number] += 1
    clock.seconds += costs.beginning(sum(count > 0 for count in counts))
    return counts


def pieces_of(texts: Sequence[TextAtLoad], most: int) -> dict[TextAtLoad, int]:
    """Tokens of prompts that one round reads, at most so many. Who came first reads first."""
    pieces: dict[TextAtLoad, int] = {}
    for text in texts:
        if text.unread > 0 and most:
            pieces[text] = min(most, text.unread)
            most -= pieces[text]
    return pieces
