"""Target and draft under SSD, played out in time: what other settings, placements and models would give. Standard
library only. No model runs, and whatever comes out of here is *simulated* and says so.

A live run and the simulator drive the same policy. Which tokens are accepted and which outcomes are prepared for is
exact where the dice fix the text: the recording says it. Time is as good as the prices. The simulator cannot see what
lies off the text: that all branches of a round ended before their depth, and, under a classifier, what refused drafts
would have echoed. So its hits are near those of `ssd-disco`, not equal.

Texts are played in batches, and a text alone is a batch of one: joint drafts for those that missed, joint preparations
within one budget of rows, joint verifications.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from decoding.core.batch_state import BatchState
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.records import RecordedText
from decoding.drafting.tree_shapes import RANKS
from decoding.prices.cost_model import CostModel
from decoding.replay.at_load import PIECE, PlayedRequest, PlayedRun, pieces_of, serve
from decoding.replay.player import Pass, PassClock, TextAtLoad
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.ssd_policy import Plan, SsdPolicy, worth_keeping
from decoding.ssd.policy.together import Experience, RowBudget, shared_out
from decoding.trace.events import Backup, Origin

UNSEEN = -1  # a token that is surely not the target's


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


@dataclass(frozen=True)
class SimulatedDraft:
    """The draft that is with the target."""

    tokens: Sequence[int]  # UNSEEN where only their number is known
    origin: Origin
    backup: Backup
    accepted: int
    refused: int | None  # the first token that the target does not keep
    chances: Sequence[float] = ()  # of copied tokens


@dataclass
class SimulatedPreparation:
    """Steps one after another. The first opens the branches, each other drafts one token in all of them."""

    drafted: int  # tokens of the draft that is being verified
    will_hit: bool  # whether the outcome that will come is among the chosen ones
    began_s: float
    opening_s: float
    step_s: float
    rows: int  # of the passes, over all texts that share them
    most: int  # the depth that is wanted
    depth: int = 0
    depth_before: int = 0  # the last step
    passes: int = 0
    ended_s: float = 0.0

    @property
    def is_rounded_off(self) -> bool:
        """Whether the branches' last tokens were read too."""
        return self.passes > 1 + self.depth

    def has_read(self, tokens: int) -> bool:
        """Whether the last of so many tokens of a branch was read."""
        return tokens < self.depth or (self.is_rounded_off and tokens == self.depth)

    @property
    def is_done(self) -> bool:
        return self.depth == self.most

    def open(self) -> None:
        self._work(self.began_s, self.opening_s)

    def step(self) -> None:
        """Draft one more token in every branch, or read their last tokens if they are done."""
        self._work(self.ended_s, self.step_s)
        self.depth_before, self.depth = self.depth, min(self.most, self.depth + 1)

    def _work(self, began_s: float, took_s: float) -> None:
        self.passes += 1
        self.ended_s = began_s + took_s


NOTHING = SimulatedDraft((), "none", "", 0, None)


def simulate(texts: Iterable[RecordedText], plan: Plan, prices: CostModel, beside: bool) -> PlayedRun:
    """Play each text alone. Both models have read its prompt at time 0. `beside` says whether each works on a device of
    its own; otherwise one waits for the other."""
    batch, found = SharedRounds(plan, prices, beside), PlayedRun(1)
    for request in texts:
        batch.clock.seconds = 0.0
        text = SimulatedText(request, request.tokens, batch)
        while text.at < text.end:
            batch.play([text])
        found.requests.append(PlayedRequest(text.end, text.first, batch.clock.seconds, text.rounds))
    return found


def simulate_together(
    texts: Sequence[RecordedText],
    plan: Plan,
    costs: CostModel,
    users: int,
    beside: bool = False,
    devices: int = 1,
    *,
    shares_branches: bool = True,
    looks: bool = True,
) -> PlayedRun:
    """Play every text once, with `users` under way at any time. The costs are those of passes alone, except of
    preparing, which was measured where it runs, as was the time of an answer: that of its two messages. Each of several
    devices for the draft prepares as many branches as the plan says, in the same time; one of them drafts after
    misses. The texts share the plan's branches, or each has as many. `looks` says whether a draft beside the target
    looks for the verdict between its steps; the paper's engine finishes all branches first."""
    if devices > 1:
        branches = plan.settings.branches and devices * plan.settings.branches
        plan = replace(plan, settings=replace(plan.settings, branches=branches))
        costs = replace(costs, branches=[(devices * rows, seconds) for rows, seconds in costs.branches])
    message_s = costs.answer / 2 if beside else 0.0
    costs = replace(costs, start=costs.fixed(users), answer=0.0, transport=message_s, taking=message_s)
    batch = SharedRounds(plan, costs, beside, users, shares_branches=shares_branches, looks=looks)

    def begin(request: RecordedText, end: int) -> SimulatedText:
        return SimulatedText(request, end, batch)

    return serve(texts, begin, batch.play_round, users, batch.clock)


class SharedRounds:
    """Texts that are decoded together, round by round, and what they share."""

    def __init__(
        self,
        plan: Plan,
        costs: CostModel,
        beside: bool,
        users: int = 1,
        *,
        shares_branches: bool = True,
        looks: bool = True,
    ) -> None:
        self.plan, self.costs, self.beside, self.users = plan, costs, beside, users
        self.looks = beside and looks
        self.clock, self.state = PassClock(), BatchState()
        self.step_s = cache(costs.prepare)  # by rows
        breadth = Breadth(lambda branches: ns(self.step_s(branches)))
        branches = plan.settings.branches and plan.settings.branches * (1 if shares_branches else users)
        self.budget = RowBudget(branches, beside, breadth)
        self.experience = Experience(breadth)

    def play_round(self, every: Sequence[TextAtLoad]) -> None:
        """Play a round of all texts whose prompts are read, beside the next pieces of the other prompts."""
        ready = [text for text in every if isinstance(text, SimulatedText) and text.unread <= 0]
        pieces = pieces_of(every, PIECE if ready else 10**9)
        self.play(ready, pieces)
        for reading, count in pieces.items():
            reading.read(count)
            if reading.begins_to_draft:
                self.clock.seconds += self.costs.read(reading.request.prompt_tokens)

    def play(self, texts: Sequence[SimulatedText], pieces: Mapping[TextAtLoad, int] = {}) -> None:
        """Answer the last verdicts, prepare for the next, and verify jointly."""
        began_s, preparing_s = self._draft(texts) if texts else (self.clock.seconds, 0.0)
        rows = sum(text.drafted + 1 for text in texts)
        verifying_s = self.costs.passing(len(texts), rows, len(pieces), sum(pieces.values()))
        self.clock.seconds = began_s + self.costs.beside(verifying_s, preparing_s)
        for text in texts:
            before = text.at
            text.settle(text.passes + text.prepared, text.sent.origin)
            self.clock.seconds += self.costs.chances(text.request.prompt_tokens, before, text.at)
        for text in texts:
            text.first = text.first or self.clock.seconds

    def _draft(self, texts: Sequence[SimulatedText]) -> tuple[float, float]:
        """Let all texts have their drafts, and prepare. Return when the verification begins, and for how many seconds
        the draft works beside it."""
        self.state.begin(len(texts))
        for text in texts:
            text.drafting()
        ready_s = max(text.free_s for text in texts) + self._steps_s([text.passes for text in texts])
        arrived_s = ready_s + self.message_s
        if len(texts) == 1 and texts[0].is_taken:
            arrived_s = texts[0].asked_s + self.costs.taking
        for text in texts:
            text.now_s = ready_s
        asked = {number: text.choose() for number, text in enumerate(texts)}
        granted = shared_out(asked, self.budget.rows(asked.values()))
        rows = sum(len(chosen.outcomes) for chosen in granted.values())
        works = [work for number, text in enumerate(texts) if (work := text.branch(granted[number], rows))]
        if not works:
            return arrived_s, 0.0
        deepest = max(work.most for work in works)
        if self.beside:  # there is time to read the branches' last tokens too
            return arrived_s, max(work.opening_s for work in works) + (deepest + (deepest > 0)) * works[0].step_s
        prepared_s = works[0].began_s + max(work.opening_s for work in works) + deepest * works[0].step_s
        return prepared_s, 0.0

    @property
    def message_s(self) -> float:
        return self.costs.transport if self.beside else 0.0

    def _steps_s(self, passes: Sequence[int]) -> float:
        """Seconds of joint draft steps, each shared by the texts that still draft."""
        steps = [sum(each > depth for each in passes) for depth in range(max(passes))]
        return sum(map(self.costs.draft, steps), self.costs.beginning(steps[0]) if steps else 0.0)


class SimulatedText(TextAtLoad):
    """One text, as the draft's side sees it. A preparation counts once the next draft is asked for, so the one beside
    the last round does not."""

    def __init__(self, request: RecordedText, end: int, batch: SharedRounds) -> None:
        super().__init__(request, batch.clock.seconds, end)
        assert request.written, "hits need the text's tokens"
        self.written = replace(request.written, room=end) if end < request.tokens else request.written
        self.now_s = 0.0  # on the draft's side
        self.policy = SsdPolicy(
            batch.plan,
            self.written.ends,
            request.seed,
            lambda: ns(self.now_s),
            batch.state,
            batch.beside,
            batch.experience,
        )
        self.policy.read(self.written.prompt)
        self.batch, self.prices = batch, batch.costs
        self.free_s = 0.0  # there, before its model drafts in this round
        self.asked_s = 0.0  # the target's question
        self.sent = NOTHING  # the draft of this round
        self.token = UNSEEN  # the target's own behind it; no guess where the text ended before
        self.passes = 0  # of the draft model for it, while the target waits
        self.is_read = False  # whether the draft has read all of it
        self.is_taken = False  # whether the target took it before an answer came
        self.preparing: SimulatedPreparation | None = None  # beside its verification
        self.prepared = 0  # passes of the preparation before

    @property
    def _limit(self) -> int:
        return self.written.room - self.at - 1

    # The answer -------------------------------------------------------------------------------------------------------

    def drafting(self) -> Iterator[Pass]:
        """Answer the last verdict, in passes of the draft model while the target waits."""
        begins_s = self.prices.fixed(self.batch.users) if self.rounds else self.prices.start
        self.asked_s = self.batch.clock.seconds + begins_s
        ready = self._hear_verdict(self.asked_s + self.batch.message_s)
        self._learn()
        self.passes, self.is_taken, room = 0, False, self.policy.room(self._limit)
        self.sent = self._answer(ready, room) if room > 0 else NOTHING
        self.drafted, position, text = len(self.sent.tokens), self.at + self.sent.accepted, self.written.text
        self.token = text[position] if position < len(text) else UNSEEN - 1
        if not self.passes:
            self.free_s = self.now_s
        return iter([Pass(1)] * self.passes)

    def _answer(self, ready: int, room: int) -> SimulatedDraft:
        """Return the next draft. `ready` is how deep the branches were when the verdict was there."""
        self.is_read, work = False, self.preparing
        if work and work.will_hit and ready and self.policy.is_final(ready, ready == work.most):
            return self._taken(work, ready, room)
        sent = self._after_a_hit(work, room) if work and work.will_hit and work.depth else self._after_a_miss(room)
        self.policy.pace.note_draft()
        return sent

    def _hear_verdict(self, heard_s: float) -> int:
        """Prepare until the verdict is heard. Returns how deep the branches were when the verdict was there."""
        self.now_s, self.prepared, work = heard_s, 0, self.preparing
        if work is None:
            return 0
        work.open()
        self.policy.budget.breadth.note_round(work.drafted, ns(heard_s - work.ended_s))
        if self.batch.looks:
            self._step_beside(work, heard_s)
        else:
            while not work.is_done:
                self._step(work)
        self.now_s, self.prepared = max(heard_s, work.ended_s), work.passes
        if work.ended_s <= heard_s:
            return work.depth
        return work.depth_before if self.batch.looks else 0

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
        if self.rounds:
            fresh = self.written.text[self.at - self.sent.accepted - 1 : self.at]
            self.policy.text += fresh
            took_ns = self.policy.pace.elapsed_ns(ns(self.asked_s))
            self.policy.learn_round(self.sent, self.sent.accepted, fresh, took_ns)

    def _taken(self, work: SimulatedPreparation, ready: int, room: int) -> SimulatedDraft:
        """The draft that the target looked up. The draft side hears of it when the step under way is done."""
        length, self.is_taken = self._length(min(room, ready)), True
        self.policy.pace.note_draft(ns(self.asked_s))
        self.now_s = max(self.now_s, self.asked_s + self.prices.taking)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit")

    def _after_a_hit(self, work: SimulatedPreparation, room: int) -> SimulatedDraft:
        """The branch as far as it has come. If the verdict was early, the branch may go on alone."""
        most = min(room, work.depth)
        ready = self._length(most)
        prices, is_long = self.policy.prices, self.policy.is_long(ready)
        length = kept = self._length(most, prices.beside) if is_long else ready
        self.now_s += self.prices.answer
        if ready == kept < self._length(room) and self._grows(ready):
            length = self._length(room, prices.waiting, ready)
            self._draft(length - ready)
        self.is_read = work.has_read(length)
        return self._by_model(length, "hit")

    def _grows(self, tokens: int) -> bool:
        return self.policy.grows(tokens, lambda: math.prod(map(self._corrected, self._said(self.at)[:tokens])))

    def _length(self, longest: int, price: float = 0.0, drafted: int = 0) -> int:
        """Number of tokens that the draft model drafts here: until an end token, until there is no room, or until the
        chance that all are accepted, by corrected estimates, falls below the price. It does not stop within the first
        `drafted` tokens."""
        longest = min(longest, self.request.record.limits[self.at])
        if not self.policy.has_estimates:
            return longest
        return min(longest, worth_keeping(map(self._corrected, self._said(self.at)), price, longest, drafted))

    def _said(self, at: int) -> Sequence[float]:
        """The classifier's estimates of the tokens of a draft there, if the policy asks one. Behind the end of the text
        nothing was estimated."""
        is_known = self.policy.has_estimates and at < self.request.tokens
        return self.request.seen.row("estimate", at) if is_known else ()

    def _corrected(self, estimate: float) -> float:
        return self.policy.recalibration.corrected(estimate)

    def _after_a_miss(self, room: int) -> SimulatedDraft:
        origin: Origin = "miss" if self.preparing else "fresh"
        backup, tokens = self.policy.after_a_miss(room)
        if tokens and self.preparing:
            accepted = self.written.agreeing(self.at, tokens)
            refused = tokens[accepted] if accepted < len(tokens) else None
            self.now_s += self.prices.answer
            chances = self.policy.copied_chances(len(tokens)) if backup == "copy" else ()
            return SimulatedDraft(tokens, origin, backup, accepted, refused, chances)
        length = self._length(room, self.policy.prices.waiting)
        self._draft(length)
        return self._by_model(length, origin)

    def _by_model(self, length: int, origin: Origin) -> SimulatedDraft:
        accepted = min(length, self.request.record.runs[self.at])
        position = self.at + accepted  # behind the text where a stop string ended it within the draft
        is_refused = accepted < length and position < len(self.written.text)
        refused = self.request.preferred[position][0] if is_refused else None
        return SimulatedDraft((UNSEEN,) * length, origin, "neural" if origin == "miss" else "", accepted, refused)

    def _draft(self, tokens: int) -> None:
        """Draft one token after another, while the target waits."""
        took_s = self.prices.drafted(self.batch.users, tokens)
        self.free_s, self.passes = self.now_s, tokens
        self.now_s += took_s
        if tokens:
            self.policy.note_drafting(tokens, ns(took_s))

    # The preparation --------------------------------------------------------------------------------------------------

    def choose(self) -> ChosenOutcomes:
        """Choose the outcomes to prepare for."""
        sent = self.sent
        if not sent.tokens:
            return ChosenOutcomes()
        guesses = self._guesses()
        echo_lengths = self._put_echoes_first(guesses)
        estimates = [] if sent.chances else self._estimates(len(sent.tokens) + 1)
        chances = self._copied_chances() if sent.chances else [*map(self._corrected, estimates)]
        chosen = self.policy.choose(sent, chances, guesses, echo_lengths)
        # Sooner than a live run, which has no verdict yet: steps beside the verification already count this one.
        self.policy.learn_outcome(sent, sent.accepted, self.token, estimates)
        return chosen

    def _estimates(self, count: int) -> list[float]:
        """Return the classifier's estimates from here on, if the policy asks one. Behind the end of a short text
        nothing was estimated, and nothing is prepared."""
        known = self._said(self.at)[:count]
        return [*known, *[0.0] * (count - len(known))] if self.policy.has_estimates else []

    def _copied_chances(self) -> list[float]:
        """Return the copier's estimates of the draft, and the classifier's of the draft model's next token."""
        behind = self._said(self.at + self.drafted)
        return [*self.sent.chances, self._corrected(behind[0]) if behind else 0.0]

    def branch(self, chosen: ChosenOutcomes, rows: int) -> SimulatedPreparation | None:
        """Prepare for these outcomes, in steps of so many rows. An opening that nobody measured is a step."""
        self.preparing = None
        if self.drafted:
            step_s = self.batch.step_s(rows)
            self.preparing = SimulatedPreparation(
                drafted=self.drafted,
                will_hit=(self.sent.accepted, self.token) in chosen.outcomes,
                began_s=self.now_s + self.prices.turning,
                opening_s=self.prices.opening_read if self.is_read else self.prices.opening or step_s,
                step_s=step_s,
                rows=rows,
                most=self.policy.room(self._limit - 1) if chosen.outcomes else 0,
            )
        return self.preparing

    def _guesses(self) -> list[list[int]]:
        """For each accepted count, what may follow. Only one count is real: where the target does not go, tokens that
        cannot be its own stand for the others."""
        sent, drafted, preferred = self.sent, self.drafted, self.request.preferred
        most = max(RANKS, self.policy.planner.most_guesses)
        open_counts = [k + 1 < self._limit and not (k == drafted and self._is_last) for k in range(drafted + 1)]
        known = len(preferred[self.at]) - len(self.written.ends)
        guesses = [
            [UNSEEN] * min(most, known - (k < drafted)) if is_open else [] for k, is_open in enumerate(open_counts)
        ]
        position = self.at + sent.accepted
        if open_counts[sent.accepted] and position < len(self.written.text):
            guesses[sent.accepted] = self.policy.guessable(preferred[position], sent.refused)[:most]
        return guesses

    def _put_echoes_first(self, guesses: Sequence[list[int]]) -> list[int]:
        """Put the text's echoes where the policy wants them, if it goes by estimates. Returns the lengths of their
        contexts, 0 for none."""
        lengths, after = [0] * len(guesses), self.policy.echoes.fork()
        known = self.written.text[self.at : self.at + self.sent.accepted + 1] if self.policy.has_estimates else ()
        for k, token in enumerate(known):
            echo, length = after.next()
            drafted = self.request.preferred[self.at + k][0] if k < self.drafted else None
            if self.policy.put_echo_first(guesses[k], echo, drafted):
                lengths[k] = length
            after.take(token)
        return lengths

    @property
    def _is_last(self) -> bool:
        """Whether the draft ends with an end token."""
        if self.sent.tokens[-1] == UNSEEN:
            return self.drafted == self.request.record.limits[self.at] < self._limit
        return self.sent.tokens[-1] in self.written.ends

    def accepted(self) -> int:
        return self.sent.accepted
