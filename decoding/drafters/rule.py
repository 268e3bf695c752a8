"""Stop rules: after each token that a model drafts, they decide whether to draft another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from decoding.choosing import Look
from decoding.crowd import Crowd
from decoding.drafters.base import Draft
from decoding.verify import Verdict


@dataclass  # one is made after every token, and making a frozen one takes 3 times as long
class DraftStep:
    """One drafted token as a stop rule sees it. Looking at a value waits for the device."""

    text: Sequence[int]  # the committed tokens
    ahead: Sequence[int]  # the round's tokens before this one
    token: int
    scores: Tensor  # [1, V], what it was chosen from
    preferences: Tensor  # [1, V], what the dice chose by: under shared dice, scores plus noise
    seen: Sequence[float] = ()  # the values of the rule's look, if one was launched

    @cached_property
    def confidence(self) -> float:
        return float(torch.softmax(self.scores.float(), -1)[0, self.token])


class StopRule:
    """Decides how long a draft gets. A rule may remember earlier drafts and verdicts. Only the rule of a bound may see
    the random numbers of a verdict that is still to come."""

    lookahead: int = 0  # the most tokens that this round may draft; valid after `begin`
    reads: bool = False  # whether `should_stop` looks at tokens; if not, a GPU drafts them all without waiting
    estimates: Sequence[float] = ()  # probability that each token is accepted; empty if the rule estimates none
    look: Look | None = None  # computes `DraftStep.seen` on the device, in the launch that chooses the token

    @property
    def rests(self) -> bool:
        """Whether it drafts nothing for now: then the draft model need not read the prompt yet."""
        return False

    def join(self, crowd: Crowd) -> None:
        """Learn which texts are decoded together with this one."""

    def begin(self, text: Sequence[int]) -> None:
        """Start a round after this text."""

    def should_stop(self, step: DraftStep) -> bool:
        """Whether to stop after this token. The token stays in the draft either way: dropping a token because of what
        it is would bias the output."""
        return False

    def keeps(self, drafted: int) -> int:
        """How many of the drafted tokens the target shall verify. No token's own value may decide about it."""
        return drafted

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        """Learn from the verdict on a draft."""
