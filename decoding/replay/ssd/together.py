"""Several texts under SSD: joint drafts for those that missed, joint preparations within one budget of rows, joint
verifications. The draft takes turns with the target, or works beside it. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from decoding.drafting.records import RecordedText
from decoding.prices.cost_model import CostModel
from decoding.replay import texts_at_load
from decoding.replay.at_load import PIECE, PlayedRun, pieces_of, serve
from decoding.replay.player import Pass, PassClock
from decoding.replay.ssd.playing import IN_TURN, Placement, Plan, SimulatedDraft, ns
from decoding.replay.ssd.simulator import SimulatedText
from decoding.replay.ssd.track import Track
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.misses import Experience
from decoding.ssd.policy.together import RowBudget, shared_out
from decoding.trace.events import Anticipated


@dataclass(frozen=True)
class Tracked(RecordedText):
    """One request, with the track of its text."""

    track: Track = field(kw_only=True)


class SsdRun(PlayedRun):
    """All requests of one setting at one load."""

    @property
    def hit_rate(self) -> float:
        """Share of hits in the verdicts that a draft followed."""
        sources = Counter(one.source for request in self.requests for one in request.rounds)
        return sources["hit"] / max(1, sources["hit"] + sources["miss"])


@dataclass(eq=False)
class _Ahead(texts_at_load.TextAtLoad):
    text: SimulatedText
    sent: SimulatedDraft = field(init=False)
    passes: int = field(default=0, init=False)  # of the draft in this round, with those that prepared

    def drafting(self) -> Iterator[Pass]:
        text, known = self.text, len(self.text.events)
        text.number += 1
        self.sent, passes, _ = text.answer()
        self.drafted = len(self.sent.tokens)
        prepared = (event.passes for event in text.events[known:] if isinstance(event, Anticipated))
        self.passes = passes + sum(prepared)
        yield from [Pass(1)] * passes

    def accepted(self) -> int:
        self.text.settle(self.sent)
        return self.sent.accepted


def simulate_together(
    requests: Sequence[Tracked],
    plan: Plan,
    costs: CostModel,
    users: int,
    placement: Placement = IN_TURN,
    devices: int = 1,
) -> SsdRun:
    """Play every request once, with `users` under way at any time. The costs are those of passes alone, except of
    preparing, which was measured where it runs. Each of several devices for the draft prepares as many branches as the
    plan says, in the same time; one of them drafts after misses.

    The backup must not depend on times: a trial would need a clock that all texts share."""
    assert plan.settings.backup not in ("auto", "by-batch")
    if devices > 1:
        branches = plan.settings.branches and devices * plan.settings.branches
        plan = replace(plan, settings=replace(plan.settings, branches=branches))
        costs = replace(costs, branches=[(devices * rows, seconds) for rows, seconds in costs.branches])
    if not placement.beside:
        costs = replace(costs, slower=1.0, answer=0.0)
    clock, step_s = PassClock(), costs.prepare(plan.settings.most_branches)
    budget = RowBudget(plan.settings.branches, placement.beside, Breadth(lambda rows: ns(costs.prepare(rows))))
    prices = replace(  # as each text's policy sees them. The round's time comes from the joint costs
        costs.of_each(users),
        branches=[(1, step_s)],
        opening=step_s,
        opening_read=0.0,
        start=costs.fixed(users),
        answer=0.0,
    )
    batch = _Batch(plan, costs, prices, placement, budget, clock)
    tracked = {id(request): request.track for request in requests}
    begin = lambda request, end: batch.begin(request, tracked[id(request)], end)  # noqa: E731
    return SsdRun(users, serve(requests, begin, batch.step, users, clock).requests)


@dataclass
class _Batch:
    plan: Plan
    costs: CostModel
    prices: CostModel
    placement: Placement
    budget: RowBudget
    clock: PassClock

    def begin(self, request: RecordedText, track: Track, end: int) -> _Ahead:
        if end < request.tokens:
            track = replace(track, room=end)
        return _Ahead(request, self.clock.seconds, end, self._text(track))

    def _text(self, track: Track) -> SimulatedText:
        return SimulatedText(track, self.plan, self.prices, self.placement, Experience(self.budget.breadth))

    def step(self, texts: Sequence[texts_at_load.TextAtLoad]) -> None:
        """Play one round of all texts. Those whose prompt is still being read take part in the verification."""
        ready = [text for text in texts if isinstance(text, _Ahead) and text.unread <= 0]
        preparing_s = self._draft(ready) if ready else 0.0
        pieces = pieces_of(texts, PIECE if ready else 10**9)
        rows = sum(text.drafted + 1 for text in ready)
        verifying_s = self.costs.passing(len(ready), rows, len(pieces), sum(pieces.values()))
        if self.placement.beside:
            self.clock.seconds += self.costs.beside(verifying_s, preparing_s)
        else:
            self.clock.seconds += preparing_s + verifying_s
        for text in ready:
            before = text.at
            text.settle(text.passes, text.sent.source)
            self.clock.seconds += self.costs.chances(text.request.prompt_tokens, before, text.at)
        for text in ready:
            text.first = text.first or self.clock.seconds
        for reading, count in pieces.items():
            reading.read(count)
            if reading.begins_to_draft:
                self.clock.seconds += self.costs.read(reading.request.prompt_tokens)

    def _draft(self, texts: Sequence[_Ahead]) -> float:
        """Answer the last verdicts, draft what missed in joint steps, and prepare. Return the seconds that the draft
        can prepare for."""
        for text in texts:
            text.text.ended_s = self.clock.seconds
        asked = [len([*text.drafting()]) for text in texts]
        free = [text.text.now_s - self.prices.drafted(1, passes) for text, passes in zip(texts, asked, strict=True)]
        self.clock.seconds = max(free) + self.costs.answer + _steps(asked, self.costs)
        return self._prepare(texts)

    def _prepare(self, texts: Sequence[_Ahead]) -> float:
        """Let all texts prepare within one budget of rows. Return the seconds that it takes."""
        asked = {number: text.text.choose(text.sent) for number, text in enumerate(texts)}
        rows = self.budget.rows(asked.values())
        granted = shared_out(asked, rows)
        count = sum(len(chosen.outcomes) for chosen in granted.values())
        for number, text in enumerate(texts):
            text.text.now_s = self.clock.seconds
            text.text.prepare(text.sent, granted[number], count)
        deepest = max((text.text.preparing.most for text in texts if text.text.preparing), default=0)
        opens = any(text.sent.tokens and not text.text.is_read for text in texts)
        reads_on = self.placement.beside and deepest > 0  # the branches' last tokens, if there is time
        return (opens + deepest + reads_on) * self.costs.prepare(rows)


def _steps(passes: Sequence[int], costs: CostModel) -> float:
    """Seconds of joint draft steps, each shared by the texts that still draft."""
    steps = [sum(each > depth for each in passes) for depth in range(max(passes, default=0))]
    return sum(map(costs.draft, steps), costs.beginning(steps[0]) if steps else 0.0)
