"""Several texts under SSD: joint drafts for those that missed, joint preparations within one budget of rows, joint
verifications. The draft takes turns with the target, or works beside it. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from decoding.events import Anticipated
from decoding.replay import texts_at_load
from decoding.replay.at_load import PIECE, Run, pieces_of, serve
from decoding.replay.costs import Costs
from decoding.replay.joint_costs import JointCosts, Line, on_line
from decoding.replay.player import Clock, Pass
from decoding.replay.records import RecordedText
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.misses import Experience
from decoding.ssd.policy.together import Budget, shared_out
from decoding.ssd.simulation.playing import IN_TURN, Placement, Plan, SimulatedDraft, ns
from decoding.ssd.simulation.prices import Prices
from decoding.ssd.simulation.simulator import Text
from decoding.ssd.simulation.track import Track


@dataclass(frozen=True)
class Tracked(RecordedText):
    """One request, with the track of its text."""

    track: Track = field(kw_only=True)


@dataclass(frozen=True)
class Beside:
    """Costs of a draft in a process of its own."""

    slower: float = 1.0  # how many times as long a verification takes at most: both models share the memory
    delay: float = 1.0  # seconds that it takes longer for each second in which the draft works meanwhile
    answering: float = 0.0  # seconds from a question to its answer, besides the model's steps

    def verifying(self, alone_s: float, draft_s: float) -> float:
        """Seconds of a verification that takes so long alone, while the draft has work for so long."""
        return min(self.slower * alone_s, alone_s + self.delay * draft_s)


FREE = Beside()


class Together(Run):
    """All requests of one setting at one load."""

    @property
    def hit_rate(self) -> float:
        """Share of hits in the verdicts that a draft followed."""
        sources = Counter(one.source for request in self.requests for one in request.rounds)
        return sources["hit"] / max(1, sources["hit"] + sources["miss"])


@dataclass(eq=False)
class _Ahead(texts_at_load.Text):
    text: Text
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
    costs: JointCosts,
    users: int,
    passes: Line,
    placement: Placement = IN_TURN,
    beside: Beside = FREE,
) -> Together:
    """Play every request once, with `users` under way at any time. `passes` are the seconds of one joint pass by its
    branches; where the draft works beside the target, they were measured so. `costs` are those of passes alone, and
    `beside` says what they cost more in that placement.

    The backup must not depend on times: a trial would need a clock that all texts share."""
    assert plan.settings.backup not in ("auto", "by-batch")
    clock = Clock()
    apart = beside if placement.beside else FREE

    def pass_s(branches: int) -> float:
        return max(on_line(passes, branches), passes[0][1] / 2)

    breadth = Breadth(lambda branches: ns(pass_s(branches)))
    budget = Budget(plan.settings.branches, placement.beside, breadth)
    prices = _prices(costs, users, pass_s(plan.settings.most_branches))
    batch = _Batch(plan, costs, prices, placement, apart, pass_s, budget, clock)
    tracked = {id(request): request.track for request in requests}
    begin = lambda request, end: batch.begin(request, tracked[id(request)], end)  # noqa: E731
    return Together(users, serve(requests, begin, batch.step, users, clock).requests)


@dataclass
class _Batch:
    plan: Plan
    costs: JointCosts
    prices: Prices
    placement: Placement
    beside: Beside
    pass_s: Callable[[int], float]
    budget: Budget
    clock: Clock

    def begin(self, request: RecordedText, track: Track, end: int) -> _Ahead:
        if end < request.tokens:
            track = replace(track, room=end)
        return _Ahead(request, self.clock.seconds, end, self._text(track))

    def _text(self, track: Track) -> Text:
        return Text(track, self.plan, self.prices, self.placement, Experience(self.budget.breadth))

    def step(self, texts: Sequence[texts_at_load.Text]) -> None:
        """Play one round of all texts. Those whose prompt is still being read take part in the verification."""
        ready = [text for text in texts if isinstance(text, _Ahead) and text.unread <= 0]
        preparing_s = self._draft(ready) if ready else 0.0
        pieces = pieces_of(texts, PIECE if ready else 10**9)
        rows = sum(text.drafted + 1 for text in ready)
        verifying_s = self.costs.passing(len(ready), rows, len(pieces), sum(pieces.values()))
        if self.placement.beside:
            self.clock.seconds += self.beside.verifying(verifying_s, preparing_s)
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
                self.clock.seconds += self.costs.reading(reading.request.prompt_tokens)

    def _draft(self, texts: Sequence[_Ahead]) -> float:
        """Answer the last verdicts, draft what missed in joint steps, and prepare. Return the seconds that the draft
        can prepare for."""
        for text in texts:
            text.text.ended_s = self.clock.seconds
        asked = [len([*text.drafting()]) for text in texts]
        free = [text.text.now_s - self.prices.drafting(passes) for text, passes in zip(texts, asked, strict=True)]
        self.clock.seconds = max(free) + self.beside.answering + _steps(asked, self.costs)
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
        return (opens + deepest + reads_on) * self.pass_s(rows)


def _steps(passes: Sequence[int], costs: JointCosts) -> float:
    """Seconds of joint draft steps, each shared by the texts that still draft."""
    steps = [sum(each > depth for each in passes) for depth in range(max(passes, default=0))]
    return sum(map(costs.drafting, steps), costs.beginning(steps[0]) if steps else 0.0)


def _prices(costs: JointCosts, users: int, pass_s: float) -> Prices:
    """Prices as each text's policy sees them. The round's time comes from the joint costs."""
    target = tuple(costs.verifying(users, users * rows) for rows in range(66))
    alone = Costs(target, costs.drafting(users), costs.beginning(users), 0.0, costs.resting(users))
    return Prices("measured here", alone, (pass_s, pass_s), opening=pass_s, start=costs.resting(users))
