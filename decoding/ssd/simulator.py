"""Target and draft under SSD, played out in time: what other placements and other models would give. Standard library
only; no model runs, and whatever comes out of here is *simulated* and says so.

Which tokens are accepted and which outcomes were prepared for is exact where the dice fix the text: it is read off a
`Track`, and the branches are placed by the planner that places them in earnest. How long it takes is as good as
`Prices`. What the simulator cannot see lies off the text: that all branches of a round have ended before their depth,
and, under a classifier, what refused drafts would have echoed; so its hits are near those of `ssd-disco`, not equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.events import Backup, Source
from decoding.ssd.outcomes import RANKS
from decoding.ssd.prices import Prices
from decoding.ssd.simulated import Placement, Plan, Planner, Simulated
from decoding.ssd.track import Track

UNSEEN = -1  # a token that is surely not the target's


def simulate(tracks: Iterable[Track], plan: Plan, prices: Prices, placement: Placement) -> Simulated:
    total = Simulated(placement.name, prices.source)
    for track in tracks:
        _Text(track, plan, plan.planner(), prices, placement, total).play()
    return total


@dataclass(frozen=True)
class Sent:
    """The draft that is with the target."""

    tokens: Sequence[int]  # UNSEEN where only their number is known
    source: Source
    backup: Backup
    accepted: int
    refused: int | None  # the first token that the target does not keep


@dataclass(frozen=True)
class _Preparing:
    """Steps one after another; the first opens the branches, each other drafts one token in all of them."""

    guessed: bool  # whether the outcome that will come is among the branches
    began: float
    opening: float
    step: float
    depth: int
    predicted_hit: float

    def end(self, depth: int) -> float:
        return self.began + self.opening + depth * self.step

    def seen(self, asked: float) -> tuple[float, int]:
        """When a draft that looks up between its steps sees what was asked, and how deep its branches are then."""
        if not self.depth or asked >= self.end(self.depth):
            return max(asked, self.end(self.depth)), self.depth
        depth = max(0, math.ceil((asked - self.end(0)) / self.step))
        return self.end(depth), depth


@dataclass
class _Text:
    """One text, round by round. Both models have read the prompt at time zero. As in a trace, preparing counts once
    the next draft has been asked for; what was prepared for after the end does not."""

    track: Track
    plan: Plan
    planner: Planner
    prices: Prices
    placement: Placement
    total: Simulated
    at: int = 0
    sent_at: float = 0.0  # the last draft
    began: float = 0.0  # the last verification
    ended: float = 0.0
    preparing: _Preparing | None = None  # beside it

    def play(self) -> None:
        while self.at < len(self.track.text):
            sent, seconds = self._answer()
            self._prepare(sent)
            self._verify(len(sent.tokens))
            self._count(sent, seconds)
            self.at += sent.accepted + 1
        self.total.tokens += len(self.track.text)
        self.total.seconds += self.ended

    @property
    def _limit(self) -> int:
        return self.track.room - self.at - 1

    @property
    def _message(self) -> float:
        return self.prices.transport if self.placement.beside else 0.0

    # The answer ---------------------------------------------------------------------------------------------------

    def _answer(self) -> tuple[Sent, float]:
        """The draft, and the seconds that the draft's side worked for it."""
        asked, depth = self._look_up()
        room = min(self.plan.lookahead, self._limit)
        if room <= 0:
            sent, seconds = Sent((), "none", "", 0, None), 0.0
        elif self.preparing and self.preparing.guessed and depth:
            sent, seconds = self._after_a_hit(room, depth)
        else:
            sent, seconds = self._after_a_miss(room)
        self.sent_at = asked + seconds
        return sent, seconds

    def _look_up(self) -> tuple[float, int]:
        """When the draft takes notice of the verdict, and how deep its branches are by then."""
        asked, work = self.ended + self._message, self.preparing
        if work is None:
            return asked, 0
        if self.placement.anytime:
            asked, depth = work.seen(asked)
        else:
            asked, depth = max(asked, work.end(work.depth)), work.depth
        self.total.steps += 1 + depth
        self.total.predicted_hits += work.predicted_hit
        self.total.drafting += work.end(depth) - work.began
        self.total.hidden += max(0.0, min(work.end(depth), self.ended) - max(work.began, self.began))
        return asked, depth

    def _after_a_hit(self, room: int, depth: int) -> tuple[Sent, float]:
        """What the branch has come to; where the verdict was early, it alone goes on if that is worth the wait."""
        ready = self.track.length(self.at, min(room, depth), self.plan.price_beside)
        whole = self.track.length(self.at, room, self.plan.price_beside)
        if ready < whole and self._is_worth_waiting(ready):
            length = self.track.length(self.at, room, self.plan.price_alone, ready)
        else:
            length = ready
        return self._by_model(length, "hit"), self.prices.answer + self._drafting(length - ready)

    def _is_worth_waiting(self, ready: int) -> bool:
        """What all of it being accepted is worth, against what one more token costs in tokens not made meanwhile."""
        if self.track.estimates:
            return math.prod(self.track.estimates[self.at][:ready]) >= self.plan.price_alone
        per_second = (self.at + 1) / self.ended
        return self.planner.acceptance**ready >= self.prices.passes.draft * per_second

    def _after_a_miss(self, room: int) -> tuple[Sent, float]:
        source: Source = "miss" if self.preparing else "fresh"
        if self.preparing and self.plan.without_model:
            said = list(self.plan.without_model(self.track, self.at, room))
            end = next((i for i, token in enumerate(said) if token in self.track.end_tokens), len(said))
            tokens = said[: end + 1]
            if tokens:
                accepted = self.track.accepted(self.at, tokens)
                refused = tokens[accepted] if accepted < len(tokens) else None
                return Sent(tokens, source, self.plan.backup, accepted, refused), self.prices.answer
        length = self.track.length(self.at, room, self.plan.price_alone)
        return self._by_model(length, source), self._drafting(length)

    def _by_model(self, length: int, source: Source) -> Sent:
        accepted = min(length, self.track.record.runs[self.at])
        refused = self.track.preferred[self.at + accepted][0] if accepted < length else None
        return Sent((UNSEEN,) * length, source, "neural" if source == "miss" else "", accepted, refused)

    def _drafting(self, tokens: int) -> float:
        self.total.draft_passes += tokens
        return self.prices.drafting(tokens)

    # The preparation ----------------------------------------------------------------------------------------------

    def _prepare(self, sent: Sent) -> None:
        if not sent.tokens:
            self.preparing = None
            return
        ranked = self._ranked(sent)
        echoed = [self._echo_first(sent, k, ranked[k]) for k in range(len(ranked))] if self.track.estimates else []
        placed = self.planner.place(sent, self._estimates(sent), ranked, echoed)
        said = self._said(sent)
        self.preparing = _Preparing(
            guessed=(sent.accepted, said) in placed.outcomes,
            began=self.sent_at,
            opening=self.prices.opening,
            step=self.prices.step(len(placed.outcomes)),
            depth=min(self.plan.lookahead, self._limit - 1) if placed.outcomes else 0,
            predicted_hit=placed.predicted_hit,
        )
        guesses = ranked[sent.accepted]
        rank = guesses.index(said) if said in guesses else RANKS
        self.planner.tell(sent, sent.accepted, rank, echoed[sent.accepted] if echoed else 0)

    def _ranked(self, sent: Sent) -> list[list[int]]:
        """For each accepted count, what may follow it. Only one is real: where the target does not go, tokens that
        cannot be its own stand for the others."""
        most = max(RANKS, self.planner.most)
        drafted = len(sent.tokens)
        open_counts = [k + 1 < self._limit and not (k == drafted and self._is_last(sent)) for k in range(drafted + 1)]
        known = len(self.track.preferred[self.at]) - len(self.track.end_tokens)
        ranked = [
            [UNSEEN] * min(most, known - (k < drafted)) if is_open else [] for k, is_open in enumerate(open_counts)
        ]
        if open_counts[sent.accepted] and self.at + sent.accepted < len(self.track.text):
            ranked[sent.accepted] = self.track.guesses(self.at + sent.accepted, sent.refused)[:most]
        return ranked

    def _echo_first(self, sent: Sent, k: int, ranked: list[int]) -> int:
        """Put what the text said there before in front of what is guessed in place of the draft's favourite; returns
        the length of the context that says so, 0 if none does."""
        place, is_whole = self.at + k, k == len(sent.tokens)
        if k > sent.accepted or not ranked or place >= len(self.track.text):
            return 0
        echo, length = self.track.echoes[place]
        favourite = ranked[0] if is_whole else self.track.preferred[place][0]
        if not length or echo == favourite or echo in self.track.end_tokens:
            return 0
        if echo in ranked:
            ranked.remove(echo)
        ranked.insert(is_whole, echo)
        return length

    def _is_last(self, sent: Sent) -> bool:
        """Whether the draft ends with an end token."""
        if sent.tokens[-1] == UNSEEN:
            return self.track.ends_itself(self.at, len(sent.tokens))
        return sent.tokens[-1] in self.track.end_tokens

    def _estimates(self, sent: Sent) -> Sequence[float]:
        return self.track.estimates[self.at][: len(sent.tokens) + 1] if self.track.estimates else ()

    def _said(self, sent: Sent) -> int:
        """The target's own token of this round; UNSEEN where the text ended before it."""
        place = self.at + sent.accepted
        return self.track.text[place] if place < len(self.track.text) else UNSEEN - 1

    # The verification ---------------------------------------------------------------------------------------------

    def _verify(self, drafted: int) -> None:
        free, ready = self.ended, self.sent_at
        if self.preparing and not self.placement.beside:
            ready = self.preparing.end(self.preparing.depth)
        self.began = ready + self._message + self.prices.passes.round
        self.ended = self.began + self.prices.passes.verify(drafted + 1)
        self.total.waiting += self.began - free

    def _count(self, sent: Sent, seconds: float) -> None:
        total = self.total
        total.rounds += 1
        total.hits += sent.source == "hit"
        total.misses += sent.source == "miss"
        total.drafted += len(sent.tokens)
        total.accepted += sent.accepted
        total.drafting += seconds
