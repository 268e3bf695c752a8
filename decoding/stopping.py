"""Stop rules that ask a policy. Each shows the policy the value of a drafted token that its `sees` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import exp

import torch
from torch import Tensor

from decoding.crowd import Crowd
from decoding.dice import Dice
from decoding.disco.features import two_best
from decoding.drafters.base import Draft
from decoding.drafters.rule import DraftStep, StopRule
from decoding.models.runner import ModelRunner, align
from decoding.strategy import WORDS, Policy
from decoding.timing import Clock
from decoding.verify import Verdict

Words = Callable[[Sequence[int]], str]  # the tokenizer's decode


def no_words(tokens: Sequence[int]) -> str:
    """Stand in for a missing tokenizer."""
    return ""


class Driven(StopRule):
    """Drives a policy that looks at no token, so that a draft can be queued without waiting."""

    def __init__(self, policy: Policy, words: Words) -> None:
        self.policy = policy
        self._words = words

    def join(self, crowd: Crowd) -> None:
        self.policy.crowd = crowd

    @property
    def rests(self) -> bool:
        return self.policy.rests

    def keeps(self, drafted: int) -> int:
        return self.policy.keeps(drafted)

    def begin(self, text: Sequence[int]) -> None:
        self.policy.begin(partial(_last_words, self._words, text))
        self.lookahead = self.policy.lookahead

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.policy.judged(draft, verdict.accepted)


def _last_words(words: Words, text: Sequence[int]) -> str:
    return words(text[-WORDS:])


def own_probability(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The draft's probability of its token: a look."""
    return torch.softmax(scores.float(), -1).gather(1, token[:, None])[0]


class Reading(Driven):
    """Shows a policy the draft's probability of each token."""

    reads = True
    look = staticmethod(own_probability)

    def should_stop(self, step: DraftStep) -> bool:
        return self.policy.stops(step.seen[0] if step.seen else step.confidence)


def peak(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The draft's probability of its likeliest token: a look."""
    return torch.softmax(scores.float(), -1).amax(-1)


class ReadingPeaks(Driven):
    """Shows a policy the draft's probability of its likeliest token."""

    reads = True
    look = staticmethod(peak)

    def should_stop(self, step: DraftStep) -> bool:
        return self.policy.stops(step.seen[0] if step.seen else float(torch.softmax(step.scores.float(), -1).max()))


def lead(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The lead of the draft's choice: a look."""
    best = preferences.float().topk(2, -1).values
    return torch.sigmoid(best[:, 0] - best[:, 1])


class ReadingLeads(Driven):
    """Shows a policy by how much the draft prefers each token to its second choice. Under shared dice this tells more
    than the token's probability, as the target adds the same noise, and needs no sum over the vocabulary."""

    reads = True
    look = staticmethod(lead)

    def should_stop(self, step: DraftStep) -> bool:
        return self.policy.stops(step.seen[0] if step.seen else _lead_of(step))


def _lead_of(step: DraftStep) -> float:
    try:
        best, second = two_best(step.preferences, step.token)
    except TypeError:  # on a GPU
        best, second = step.preferences[0].topk(2).values.tolist()
    return 1.0 / (1.0 + exp(second - best))


class Foreseeing(Driven):
    """Tells a policy whether the target will accept each token, by asking the target. For bounds only.

    The clock stops while the rule peeks. The verification afterwards reads every drafted token again, as it would
    without peeking.
    """

    reads = True

    def __init__(self, policy: Policy, words: Words, target: ModelRunner, dice: Dice, clock: Clock) -> None:
        super().__init__(policy, words)
        self._target, self._dice, self._clock = target, dice, clock

    def should_stop(self, step: DraftStep) -> bool:
        with self._clock.stopped():
            logits = self._target.extend(align(self._target, [*step.text, *step.ahead]))
            is_accepted = self._dice.accepts(logits, step.ahead, step.token, step.scores)
        return self.policy.stops(float(is_accepted))
