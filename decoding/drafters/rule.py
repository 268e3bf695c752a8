"""Stop rules as a model's drafter sees them: they decide how many tokens a round drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from decoding.choosing import Look
from decoding.dice import Row
from decoding.drafters.base import Draft
from decoding.verify import Verdict


@dataclass  # not frozen: one is made after every token, and that takes three times as long
class DraftStep:
    """One drafted token as a stop rule sees it. Looking at a value waits for the device."""

    text: Sequence[int]  # what is committed
    ahead: Sequence[int]  # the round's tokens before this one
    token: int
    scores: Tensor  # [1, V], what it was chosen from
    preferences: Tensor  # [1, V], what the choice went by: under shared dice, scores and noise
    row: Row | None = None  # the same [V], where numpy has looked at it
    seen: Sequence[float] = ()  # what the rule's look has seen, where one was launched

    @cached_property
    def confidence(self) -> float:
        return float(torch.softmax(self.scores.float(), -1)[0, self.token])


class StopRule:
    """Decides how long a draft gets. It may remember all it has seen of drafts and verdicts. It may not see the dice of
    a verdict that is still to come, unless it belongs to a bound."""

    lookahead: int = 0  # the most tokens this round may have, once it has begun
    reads: bool = False  # whether `should_stop` looks at the tokens; if not, a draft is queued without waiting
    estimates: Sequence[float] = ()  # that each token of this round is accepted; empty where the rule makes none
    look: Look | None = None  # computes `DraftStep.seen` on the device, in the launch that chooses the token

    def begin(self, text: Sequence[int]) -> None:
        """Start a round after this text."""

    def should_stop(self, step: DraftStep) -> bool:
        """Say after a drafted token whether to stop. The token stays in the draft whatever the answer: to drop it
        because of what it is would bias the output."""
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        """Learn from the verdict on a draft."""
