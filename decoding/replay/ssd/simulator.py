"""Target and draft under SSD, played out in time: what other settings, placements and models would give. Standard
library only. No model runs, and whatever comes out of here is *simulated* and says so.

A live run and the simulator drive the same policy. Which tokens are accepted and which outcomes are prepared for is
exact where the dice fix the text: it is read off a `Track`. Time is as good as the prices. The simulator cannot see
what lies off the text: that all branches of a round ended before their depth, and, under a classifier, what refused
drafts would have echoed. So its hits are near those of `ssd-disco`, not equal.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.prices.cost_model import CostModel
from decoding.replay.ssd.playing import (
    UNSEEN,
    Placement,
    Plan,
    Simulated,
    SimulatedDraft,
    SimulatedPreparation,
    ns,
)
from decoding.replay.ssd.track import Track
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.misses import Experience
from decoding.ssd.policy.planner import RANKS
from decoding.trace.events import Event, Finished, Origin, Outcome, Started, Verified


def simulate(tracks: Iterable[Track], plan: Plan, prices: CostModel, placement: Placement) -> Simulated:
    experience = Experience(Breadth(lambda branches: ns(prices.prepare(branches))))
    texts = [SimulatedText(track, plan, prices, placement, experience) for track in tracks]
    return Simulated(placement.name, prices.source, [text.play() for text in texts])


class SimulatedText:
    """One text, round by round. Both models have read the prompt at time 0. As in a trace, a preparation counts once
    the next draft is asked for, so the one beside the last round does not."""

    def __init__(
        self, track: Track, plan: Plan, prices: CostModel, placement: Placement, experience: Experience
    ) -> None:
        self.policy = plan.policy(track, lambda: ns(self.now_s))
        self.policy.share(experience, placement.beside)
        # Plain SSD uses neither estimates nor echoes, though a track may have been recorded with both.
        self.track = track if self.policy.has_estimates else dataclasses.replace(track, estimates=(), echoes=())
        self.prices, self.placement = prices, placement
        self.now_s = 0.0  # on the draft's side
        self.at = 0
        self.number = 0
        self.asked_s = 0.0  # the target's question
        self.ended_s = 0.0  # the last verification
        self.preparing: SimulatedPreparation | None = None  # beside it
        self.judged: SimulatedDraft | None = None  # in it
        self.is_read = False  # whether the draft has read all of what was sent last
        self.events: list[Event] = [Started(len(track.prompt), 0)]

    def play(self) -> list[Event]:
        while self.at < len(self.track.text):
            self.number += 1
            sent, passes, arrived_s = self.answer()
            if sent.tokens:
                position = len(self.track.prompt) + self.at
                drafted = sent.event(self.number, position, self.policy.lookahead, passes, self.asked_s, arrived_s)
                self.events.append(drafted)
            chosen = self.policy.granted(self.choose(sent))
            self.prepare(sent, chosen, len(chosen.outcomes))
            self._verify(sent, arrived_s)
            self.settle(sent)
        self.events.append(Finished("length", len(self.track.text), ns(self.ended_s)))
        return self.events

    @property
    def _limit(self) -> int:
        return self.track.room - self.at - 1

    @property
    def _message_s(self) -> float:
        return self.prices.transport if self.placement.beside else 0.0

    # The answer ---------------------------------------------------------------------------------------------------

    def answer(self) -> tuple[SimulatedDraft, int, float]:
        """Return the draft, the passes of its model while the target waited, and the time when the target has it."""
        self.asked_s = self.ended_s + (self.prices.fixed(1) if self.number > 1 else self.prices.start)
        work, ready = self.preparing, self._hear_verdict(self.asked_s + self._message_s)
        self._learn()
        room = self.policy.room(self._limit)
        if room <= 0:
            return SimulatedDraft((), "none", "", 0, None), 0, self.now_s + self._message_s
        self.is_read = False
        if work and work.will_hit and ready and self.policy.is_final(ready, ready == work.most):
            return self._taken(work, ready, room), 0, self.asked_s + self.prices.taking
        if work and work.will_hit and work.depth:
            sent, passes = self._after_a_hit(work, room)
        else:
            sent, passes = self._after_a_miss(room)
        self.policy.pace.note_draft()
        return sent, passes, self.now_s + self._message_s

    def _hear_verdict(self, heard_s: float) -> int:
        """Prepare until the verdict is heard. Returns how deep the branches were when the verdict was there."""
        self.now_s, work = heard_s, self.preparing
        if work is None:
            return 0
        work.open()
        self.policy.budget.breadth.note_round(work.drafted, ns(heard_s - work.ended_s))
        if self.placement.anytime:
            self._step_beside(work, heard_s)
        else:
            is_useless = self.placement.drops_misses and not work.will_hit
            while not (work.is_done or (is_useless and work.ended_s + work.step_s > heard_s)):
                self._step(work)
        self.now_s = max(heard_s, work.ended_s)
        self.events.append(work.event(self.number - 1, idle_s=self.now_s - work.ended_s))
        if work.ended_s <= heard_s:
            return work.depth
        return work.depth_before if self.placement.anytime else 0

    def _step_beside(self, work: SimulatedPreparation, heard_s: float) -> None:
        """Step until the verdict is heard or the policy waits for it; a verdict is never overdue here."""
        while work.ended_s < heard_s and not work.is_rounded_off and work.most:
            self.now_s = work.ended_s
            if self.policy.puts_off_step(work.drafted, work.depth, work.is_done):
                return
            self._step(work)

    def _step(self, work: SimulatedPreparation) -> None:
        work.step()
        self.policy.note_step(work.rows, ns(work.step_s))

    def _learn(self) -> None:
        """Have the policy learn from the last round."""
        if self.judged is None:
            return
        fresh = self.track.text[self.at - self.judged.accepted - 1 : self.at]
        self.policy.text += fresh
        took_ns = self.policy.pace.elapsed_ns(ns(self.asked_s))
        self.policy.learn_round(self.judged, self.judged.accepted, fresh, took_ns)

    def _taken(self, work: SimulatedPreparation, ready: int, room: int) -> SimulatedDraft:
        """The draft that the target looked up. The draft side hears of it when the step under way is done."""
        length = self._length(min(room, ready))
        self.policy.pace.note_draft(ns(self.asked_s))
        self.now_s = max(self.now_s, self.asked_s + self.prices.taking)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit")

    def _after_a_hit(self, work: SimulatedPreparation, room: int) -> tuple[SimulatedDraft, int]:
        """The branch as far as it has come. If the verdict was early, the branch may go on alone."""
        most = min(room, work.depth)
        ready = self._length(most)
        prices, is_long = self.policy.prices, self.policy.is_long(ready)
        kept = self._length(most, prices.beside) if is_long else ready
        length = kept
        self.now_s += self.prices.answer
        if ready == kept < self._length(room) and self._grows(ready):
            length = self._length(room, prices.waiting, ready)
            self._draft(length - ready)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit"), length - kept

    def _grows(self, tokens: int) -> bool:
        return self.policy.grows(
            tokens, lambda: math.prod(map(self._corrected, self.track.estimates[self.at][:tokens]))
        )

    def _length(self, longest: int, price: float = 0.0, drafted: int = 0) -> int:
        return self.track.length(self.at, longest, self._corrected, price, drafted)

    def _corrected(self, estimate: float) -> float:
        return self.policy.recalibration.corrected(estimate)

    def _after_a_miss(self, room: int) -> tuple[SimulatedDraft, int]:
        source: Origin = "miss" if self.preparing else "fresh"
        backup, tokens = self.policy.after_a_miss(room)
        if tokens and self.preparing:
            accepted = self.track.accepted(self.at, tokens)
            refused = tokens[accepted] if accepted < len(tokens) else None
            self.now_s += self.prices.answer
            chances = self.policy.copied_chances(len(tokens)) if backup == "copy" else ()
            return SimulatedDraft(tokens, source, backup, accepted, refused, chances), 0
        length = self._length(room, self.policy.prices.waiting)
        self._draft(length)
        return self._by_model(length, source), length

    def _by_model(self, length: int, source: Origin) -> SimulatedDraft:
        accepted = min(length, self.track.record.runs[self.at])
        position = self.at + accepted  # behind the text where a stop string ended it within the draft
        is_refused = accepted < length and position < len(self.track.text)
        refused = self.track.preferred[position][0] if is_refused else None
        return SimulatedDraft((UNSEEN,) * length, source, "neural" if source == "miss" else "", accepted, refused)

    def _draft(self, tokens: int) -> None:
        """Draft one token after another, while the target waits."""
        took_s = self.prices.drafted(1, tokens)
        self.now_s += took_s
        if tokens:
            self.policy.note_drafting(tokens, ns(took_s))

    # The preparation ----------------------------------------------------------------------------------------------

    def choose(self, sent: SimulatedDraft) -> ChosenOutcomes:
        """Choose the outcomes to prepare for."""
        if not sent.tokens:
            return ChosenOutcomes()
        guesses = self._guesses(sent)
        echo_lengths = [self._echo_first(sent, k, listed) for k, listed in enumerate(guesses)]
        estimates = [] if sent.chances else self._estimates(len(sent.tokens) + 1)
        chances = self._copied_chances(sent) if sent.chances else [*map(self._corrected, estimates)]
        chosen = self.policy.choose(sent, chances, guesses, echo_lengths)
        # Sooner than a live run, which has no verdict yet: steps beside the verification already count this one.
        self.policy.learn_outcome(sent, sent.accepted, self._target_token(sent), estimates)
        return chosen

    def _estimates(self, count: int) -> list[float]:
        """Return the classifier's estimates from here on, if the track has any. Behind the end of a short text nothing
        was estimated, and nothing is prepared."""
        if not self.track.estimates:
            return []
        known = self.track.estimates[self.at][:count]
        return [*known, *[0.0] * (count - len(known))]

    def _copied_chances(self, sent: SimulatedDraft) -> list[float]:
        """Return the copier's estimates of the draft, and the classifier's of the draft model's next token."""
        behind = self.track.estimates[self.at + len(sent.tokens) :][:1] if self.track.estimates else []
        return [*sent.chances, self._corrected(behind[0][0]) if behind and behind[0] else 0.0]

    def prepare(self, sent: SimulatedDraft, chosen: ChosenOutcomes, rows: int) -> None:
        """Prepare for these outcomes, in steps of so many rows."""
        if not sent.tokens:
            self.preparing = None
            return
        self.preparing = SimulatedPreparation(
            drafted=len(sent.tokens),
            chosen=chosen,
            will_hit=(sent.accepted, self._target_token(sent)) in chosen.outcomes,
            began_s=self.now_s + self.prices.turning,
            opening_s=self.prices.opening_read if self.is_read else self.prices.opening,
            step_s=self.prices.prepare(rows),
            rows=rows,
            most=self.policy.room(self._limit - 1) if chosen.outcomes else 0,
        )

    def _guesses(self, sent: SimulatedDraft) -> list[list[int]]:
        """For each accepted count, what may follow. Only one count is real: where the target does not go, tokens that
        cannot be its own stand for the others."""
        most = max(RANKS, self.policy.planner.most_guesses)
        drafted = len(sent.tokens)
        open_counts = [k + 1 < self._limit and not (k == drafted and self._is_last(sent)) for k in range(drafted + 1)]
        known = len(self.track.preferred[self.at]) - len(self.track.end_tokens)
        guesses = [
            [UNSEEN] * min(most, known - (k < drafted)) if is_open else [] for k, is_open in enumerate(open_counts)
        ]
        position = self.at + sent.accepted
        if open_counts[sent.accepted] and position < len(self.track.text):
            guesses[sent.accepted] = self.policy.guessable(self.track.preferred[position], sent.refused)[:most]
        return guesses

    def _echo_first(self, sent: SimulatedDraft, k: int, guesses: list[int]) -> int:
        """Put the recorded echo where the policy wants it. Returns the length of its context, 0 if it is not put."""
        position = self.at + k
        if not self.track.echoes or k > sent.accepted or position >= len(self.track.text):
            return 0
        echo, length = self.track.echoes[position]
        drafted = self.track.preferred[position][0] if k < len(sent.tokens) else None
        return length if self.policy.put_echo_first(guesses, echo if length else None, drafted) else 0

    def _is_last(self, sent: SimulatedDraft) -> bool:
        """Whether the draft ends with an end token."""
        if sent.tokens[-1] == UNSEEN:
            return self.track.ends_itself(self.at, len(sent.tokens))
        return sent.tokens[-1] in self.track.end_tokens

    def _target_token(self, sent: SimulatedDraft) -> int:
        """The target's own token of this round; no guess where the text ended before it."""
        position = self.at + sent.accepted
        return self.track.text[position] if position < len(self.track.text) else UNSEEN - 1

    # The verification ---------------------------------------------------------------------------------------------

    def settle(self, sent: SimulatedDraft) -> None:
        """Add to the text what the target accepted, and its own token."""
        self.judged, self.at = sent, self.at + sent.accepted + 1

    def _verify(self, sent: SimulatedDraft, arrived_s: float) -> None:
        free_s, began_s = self.ended_s, arrived_s
        if self.preparing and not self.placement.beside:
            work = self.preparing
            began_s = work.began_s + work.opening_s + work.most * work.step_s
        self.ended_s = began_s + self.prices.verify(1, len(sent.tokens) + 1)
        outcome: Outcome = "bonus" if sent.accepted == len(sent.tokens) else "correction"
        times_ns = ns(began_s - free_s), ns(began_s), ns(self.ended_s)
        self.events.append(Verified(self.number, sent.accepted, self._target_token(sent), outcome, *times_ns))
