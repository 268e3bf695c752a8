"""Several texts under SSD: joint drafts for those that missed, joint preparations within one budget of rows, joint
verifications. The draft takes turns with the target, or works beside it. Standard library only."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.replay.costs import Costs
from decoding.replay.joint_costs import JointCosts
from decoding.ssd.policy.together import shared_out
from decoding.ssd.simulation.playing import IN_TURN, Placement, Plan, SimulatedDraft
from decoding.ssd.simulation.prices import Prices
from decoding.ssd.simulation.simulator import Text
from decoding.ssd.simulation.track import Track


@dataclass
class Together:
    """Totals of a simulation in which so many users ask at any time."""

    users: int
    tokens: int = 0
    seconds: float = 0.0
    hits: int = 0
    answered: int = 0  # verdicts that a draft followed

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds

    @property
    def hit_rate(self) -> float:
        return self.hits / max(1, self.answered)


def simulate_together(
    tracks: Sequence[Track],
    plan: Plan,
    costs: JointCosts,
    users: int,
    pass_s: float,
    placement: Placement = IN_TURN,
) -> Together:
    """Play every text once, while `users` texts run; the first ones come again to keep the machine full. `pass_s` is
    the time of one joint pass over all branches. Costs are those of the placement: two models that run at once slow
    each other down.

    The backup must not depend on times: a trial would need a clock that all texts share."""
    assert plan.settings.backup not in ("auto", "by-batch")
    prices, found = _prices(costs, users, pass_s), Together(users)
    queue = deque([*tracks, *(tracks[number % len(tracks)] for number in range(users))])
    running = [Text(queue.popleft(), plan, prices, placement) for _ in range(users)]
    while queue:
        _round(running, plan.settings.branches, costs, pass_s, found)
        for place, text in enumerate(running):
            if text.at >= len(text.track.text) and queue:
                running[place] = Text(queue.popleft(), plan, prices, placement)
                running[place].ended_s = text.ended_s
    return found


def _round(texts: Sequence[Text], rows: int, costs: JointCosts, pass_s: float, found: Together) -> None:
    began_s = texts[0].ended_s
    drafts = [_answered(text) for text in texts]
    sent = [draft for draft, _ in drafts]
    free_s = max(text.now_s - text.prices.drafting(passes) for text, (_, passes) in zip(texts, drafts, strict=True))
    now_s = free_s + _steps([passes for _, passes in drafts], costs)
    preparing_s = _prepared(texts, sent, rows, now_s, pass_s)
    if not texts[0].placement.beside:
        now_s += preparing_s
    ended_s = now_s + costs.verifying(len(texts), sum(len(draft.tokens) + 1 for draft in sent))
    for text, draft in zip(texts, sent, strict=True):
        before = text.at
        text.ended_s = ended_s
        text.settle(draft)
        found.tokens += min(text.at, len(text.track.text)) - before
        found.answered += draft.source in ("hit", "miss")
        found.hits += draft.source == "hit"
    found.seconds += ended_s - began_s


def _answered(text: Text) -> tuple[SimulatedDraft, int]:
    """Return the text's next draft, and the passes of the model for it."""
    text.number += 1
    sent, passes, _ = text.answer()
    return sent, passes


def _prepared(texts: Sequence[Text], sent: Sequence[SimulatedDraft], rows: int, now_s: float, pass_s: float) -> float:
    """Let all texts prepare within one budget of rows. Return the seconds that it takes."""
    asked = {number: text.choose(draft) for number, (text, draft) in enumerate(zip(texts, sent, strict=True))}
    granted = shared_out(asked, rows)
    count = sum(len(chosen.outcomes) for chosen in granted.values())
    for number, (text, draft) in enumerate(zip(texts, sent, strict=True)):
        text.now_s = now_s
        text.prepare(draft, granted[number], count)
    deepest = max((text.preparing.most for text in texts if text.preparing), default=0)
    opens = any(draft.tokens and not text.is_read for text, draft in zip(texts, sent, strict=True))
    return (opens + deepest) * pass_s


def _steps(passes: Sequence[int], costs: JointCosts) -> float:
    """Seconds of joint draft steps, each shared by the texts that still draft."""
    return sum(costs.drafting(sum(each > depth for each in passes)) for depth in range(max(passes, default=0)))


def _prices(costs: JointCosts, users: int, pass_s: float) -> Prices:
    """Prices as each text's policy sees them. The round's time comes from the joint costs."""
    target = tuple(costs.verifying(users, users * rows) for rows in range(66))
    alone = Costs(target, costs.drafting(users), 0.0, 0.0, costs.resting(users))
    return Prices("measured here", alone, (pass_s, pass_s), opening=pass_s, start=costs.resting(users))
