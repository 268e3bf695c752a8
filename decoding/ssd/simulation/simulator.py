"""Target and draft under SSD, played out in time: what other placements and other models would give. Standard library
only; no model runs, and whatever comes out of here is *simulated* and says so.

Which tokens are accepted and which outcomes were prepared for is exact where the dice fix the text: it is read off a
`Track`, and the branches are placed by the planner that places them in earnest. How long it takes is as good as
`Prices`. What the simulator cannot see lies off the text: that all branches of a round have ended before their depth,
and, under a classifier, what refused drafts would have echoed; so its hits are near those of `ssd-disco`, not equal.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from decoding.events import Event, Finished, Outcome, Source, Started, Verified
from decoding.ssd.policy.planner import RANKS
from decoding.ssd.simulation.playing import UNSEEN, Placement, Plan, Preparing, Sent, Simulated, ns
from decoding.ssd.simulation.prices import Prices
from decoding.ssd.simulation.track import Track


def simulate(tracks: Iterable[Track], plan: Plan, prices: Prices, placement: Placement) -> Simulated:
    texts = [_Text(track, plan, prices, placement) for track in tracks]
    return Simulated(placement.name, prices.source, [text.play() for text in texts])


class _Text:
    """One text, round by round. Both models have read the prompt at time zero. As in a trace, preparing counts once
    the next draft has been asked for; what was prepared for after the end does not."""

    def __init__(self, track: Track, plan: Plan, prices: Prices, placement: Placement) -> None:
        # Plain SSD hears neither a classifier nor echoes, though a text may have been recorded with both.
        self.track = track if plan.has_estimates else dataclasses.replace(track, estimates=(), echoes=())
        self.plan, self.prices, self.placement = plan, prices, placement
        self.planner = plan.planner()
        self.now = 0.0  # on the draft's side
        self.pace = plan.pace(lambda: ns(self.now))
        self.at = 0
        self.number = 0
        self.asked = 0.0  # the target's question
        self.ended = 0.0  # the last verification
        self.preparing: Preparing | None = None  # beside it
        self.judged: Sent | None = None  # in it
        self.is_read = False  # whether the draft has read all of what was sent last
        self.events: list[Event] = [Started(len(track.prompt), 0)]

    def play(self) -> list[Event]:
        while self.at < len(self.track.text):
            self.number += 1
            sent, passes, arrived = self._answer()
            if sent.tokens:
                place = len(self.track.prompt) + self.at
                self.events.append(sent.told(self.number, place, self.plan.lookahead, passes, self.asked, arrived))
            self._prepare(sent)
            self._verify(sent, arrived)
            self.judged, self.at = sent, self.at + sent.accepted + 1
        self.events.append(Finished("length", len(self.track.text), ns(self.ended)))
        return self.events

    @property
    def _limit(self) -> int:
        return self.track.room - self.at - 1

    @property
    def _message(self) -> float:
        return self.prices.transport if self.placement.beside else 0.0

    # The answer ---------------------------------------------------------------------------------------------------

    def _answer(self) -> tuple[Sent, int, float]:
        """The draft, how often its model ran for it while the target waited, and when it is in the target's hands."""
        self.asked = self.ended + (self.prices.passes.round if self.number > 1 else self.prices.start)
        work, ready = self.preparing, self._look_up(self.asked + self._message)
        self._learn()
        room = min(self.plan.lookahead, self._limit)
        if room <= 0:
            return Sent((), "none", "", 0, None), 0, self.now + self._message
        self.is_read = False
        if work and work.guessed and ready and self._is_enough(work, ready):
            return self._taken(work, ready, room), 0, self.asked + self.prices.taking
        if work and work.guessed and work.depth:
            sent, passes = self._after_a_hit(work, room)
        else:
            sent, passes = self._after_a_miss(room)
        self.pace.gave()
        return sent, passes, self.now + self._message

    def _look_up(self, heard: float) -> int:
        """The draft takes notice of the verdict; returns how deep its branches were when that was there."""
        self.now, work = heard, self.preparing
        if work is None:
            return 0
        work.open()
        if self.placement.anytime:
            self._step_beside(work, heard)
        else:
            while not work.is_done:
                self._step(work)
        self.now = max(heard, work.ended)
        self.events.append(work.told(self.number - 1, idle=self.now - work.ended))
        if work.ended <= heard:
            return work.depth
        return work.depth_before if self.placement.anytime else 0

    def _is_enough(self, work: Preparing, depth: int) -> bool:
        """Whether no branch of that depth, were it to win, would be made longer or shorter."""
        if self._is_long(depth):
            return False
        price = self.plan.price_alone if self.plan.has_estimates else self.pace.price
        return depth == work.most or self.planner.acceptance**depth < price

    def _taken(self, work: Preparing, ready: int, room: int) -> Sent:
        """What the target has looked up; the draft hears of it when the step that it is in is done."""
        length = self.track.length(self.at, min(room, ready))
        self.pace.gave(ns(self.asked))
        self.now = max(self.now, self.asked + self.prices.taking)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit")

    def _step_beside(self, work: Preparing, heard: float) -> None:
        """As `Speculator` does; a verdict is never overdue here."""
        while work.ended < heard and not work.is_rounded_off and work.most:
            self.now = work.ended
            use = 0.0 if work.is_done else self.pace.use_of_a_token(self.planner.acceptance ** (work.depth + 1))
            if work.depth and self.pace.interrupts(work.tokens, use):
                return
            self._step(work)

    def _step(self, work: Preparing) -> None:
        work.go_on()
        self.pace.stepped(ns(work.step))

    def _learn(self) -> None:
        """What the last verdict says of the pace."""
        if self.judged is None:
            return
        self.pace.judged(self.judged, self.judged.accepted, self.pace.since_given(ns(self.asked)))
        if "ngram" in self.plan.without_model:
            began = self.at - self.judged.accepted - 1
            fresh = self.track.text[began : self.at]
            self.pace.echoed(self.plan.without_model["ngram"](self.track, began, len(fresh)), fresh)

    def _after_a_hit(self, work: Preparing, room: int) -> tuple[Sent, int]:
        """What the branch has come to; where the verdict was early, it alone goes on if that is worth the wait."""
        most = min(room, work.depth)
        ready = self.track.length(self.at, most)
        kept = self.track.length(self.at, most, self.plan.price_beside) if self._is_long(ready) else ready
        length = kept
        self.now += self.prices.answer
        if ready == kept < self.track.length(self.at, room) and self._is_worth_waiting(ready):
            length = self.track.length(self.at, room, self.plan.price_alone, ready)
            self._draft(length - ready)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit"), length - kept

    def _is_long(self, ready: int) -> bool:
        """Whether the classifier is asked how much of it is to be verified."""
        return self.plan.has_estimates and self.planner.acceptance**ready < self.plan.price_beside / 4

    def _is_worth_waiting(self, ready: int) -> bool:
        average = self.planner.acceptance**ready
        if not self.plan.has_estimates:
            return average >= self.pace.price
        price = self.plan.price_alone
        return average >= price and math.prod(self.track.estimates[self.at][:ready]) >= price

    def _after_a_miss(self, room: int) -> tuple[Sent, int]:
        source: Source = "miss" if self.preparing else "fresh"
        backup = self.pace.backup(room)
        if self.preparing and backup in self.plan.without_model:
            said = list(self.plan.without_model[backup](self.track, self.at, room))
            end = next((i for i, token in enumerate(said) if token in self.track.end_tokens), len(said))
            tokens = said[: end + 1]
            if tokens:
                accepted = self.track.accepted(self.at, tokens)
                refused = tokens[accepted] if accepted < len(tokens) else None
                self.now += self.prices.answer
                return Sent(tokens, source, backup, accepted, refused), 0
        length = self.track.length(self.at, room, self.plan.price_alone)
        self._draft(length)
        return self._by_model(length, source), length

    def _by_model(self, length: int, source: Source) -> Sent:
        accepted = min(length, self.track.record.runs[self.at])
        place = self.at + accepted  # behind the text where a stop string ended it within the draft
        is_refused = accepted < length and place < len(self.track.text)
        refused = self.track.preferred[place][0] if is_refused else None
        return Sent((UNSEEN,) * length, source, "neural" if source == "miss" else "", accepted, refused)

    def _draft(self, tokens: int) -> None:
        """One token after another, while the target waits."""
        seconds = self.prices.drafting(tokens)
        self.now += seconds
        if tokens:
            self.pace.drafted(tokens, ns(seconds))

    # The preparation ----------------------------------------------------------------------------------------------

    def _prepare(self, sent: Sent) -> None:
        if not sent.tokens:
            self.preparing = None
            return
        ranked = self._ranked(sent)
        echoed = [self._echo_first(sent, k, ranked[k]) for k in range(len(ranked))] if self.track.estimates else []
        placed = self.planner.place(sent, self._estimates(sent), ranked, echoed)
        said = self._said(sent)
        self.preparing = Preparing(
            tokens=len(sent.tokens),
            outcomes=placed.outcomes,
            guessed=(sent.accepted, said) in placed.outcomes,
            fanout=placed.fanout,
            predicted_hit=placed.predicted_hit,
            began=self.now + self.prices.turning,
            opening=self.prices.opening_read if self.is_read else self.prices.opening,
            step=self.prices.step(len(placed.outcomes)),
            most=min(self.plan.lookahead, self._limit - 1) if placed.outcomes else 0,
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

    def _verify(self, sent: Sent, arrived: float) -> None:
        free, began = self.ended, arrived
        if self.preparing and not self.placement.beside:
            work = self.preparing
            began = work.began + work.opening + work.most * work.step
        self.ended = began + self.prices.passes.verify(len(sent.tokens) + 1)
        outcome: Outcome = "bonus" if sent.accepted == len(sent.tokens) else "correction"
        token = self._said(sent)
        self.events.append(
            Verified(self.number, sent.accepted, token, outcome, ns(began - free), ns(began), ns(self.ended))
        )
