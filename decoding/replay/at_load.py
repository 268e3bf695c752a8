"""Replay at load: what a strategy does when several users ask at once, from texts that were recorded for one.
Standard library only."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from decoding.drafting.records import RecordedText
from decoding.drafting.source import Source
from decoding.prices.cost_model import CostModel
from decoding.replay.player import PassClock, Player, Playing, RoundCounts, TextAtLoad

PIECE = 64  # tokens of prompts that one round reads, as in the loop
AnyText = TypeVar("AnyText", bound=TextAtLoad)


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
        return self.users * sum(r.tokens for r in self.requests) / self.seconds

    @property
    def seconds(self) -> float:
        """Times of all requests."""
        return sum(request.end for request in self.requests)

    @property
    def hit_rate(self) -> float | None:
        """Share of hits in the verdicts that a prepared draft followed; None if no verdict was."""
        sources = Counter(one.origin for request in self.requests for one in request.rounds)
        asked = sources["hit"] + sources["miss"]
        return sources["hit"] / asked if asked else None


def play(
    requests: Sequence[RecordedText],
    source: Callable[[], Source],
    costs: CostModel,
    users: int,
    *,
    drafts: bool = True,
) -> PlayedRun:
    """Play every request once, with `users` under way at any time. Requests that fill and empty the machine are not
    counted, as in a comparison. `drafts` says whether a draft model reads the prompts."""
    player = Player(costs, source().sees, drafts=drafts)

    def play_round(texts: Sequence[Playing]) -> None:
        ready = [text for text in texts if text.unread <= 0]
        player.round(ready, pieces_of(texts, PIECE if ready else 10**9))

    return serve(requests, lambda request, end: player.begin(request, source(), end), play_round, users, player.clock)


def serve(
    requests: Sequence[RecordedText],
    begin: Callable[[RecordedText, int], AnyText],
    play_round: Callable[[Sequence[AnyText]], None],
    users: int,
    clock: PassClock,
) -> PlayedRun:
    """Let every request grow to its end among so many. `begin` makes a text of so many tokens; `play_round` is for
    all that are under way."""
    queue = deque(stream(requests, users))
    done, growing = dict[int, PlayedRequest](), list[tuple[AnyText, int | None]]()
    while len(done) < len(requests):
        while len(growing) < users:
            request, end, number = queue.popleft()
            growing.append((begin(request, end), number))
            if len(queue) < users:
                queue.append((request, request.tokens, None))  # keeps the machine full
        play_round([text for text, _ in growing])
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


def pieces_of(texts: Sequence[AnyText], most: int) -> dict[AnyText, int]:
    """Tokens of prompts that one round reads, at most so many. Who came first reads first."""
    pieces: dict[AnyText, int] = {}
    for text in texts:
        if text.unread > 0 and most:
            pieces[text] = min(most, text.unread)
            most -= pieces[text]
    return pieces
