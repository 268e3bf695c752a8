"""Stop rules: how many tokens a round drafts. Each is a few lines; what they cost and gain is the product's subject."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice import Dice
from decoding.drafters.base import Draft
from decoding.drafters.rule import DraftStep
from decoding.runner import ModelRunner, align
from decoding.timing import Clock
from decoding.verify import Verdict


@dataclass
class FixedLength:
    """The same lookahead every round."""

    lookahead: int
    reads = False
    look = None
    estimates: Sequence[float] = ()

    def should_stop(self, step: DraftStep) -> bool:
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        pass


@dataclass
class Heuristic:
    """The transformers rule: two more after a draft that was accepted whole, otherwise one fewer, never below one."""

    lookahead: int
    reads = False
    look = None
    estimates: Sequence[float] = ()

    def should_stop(self, step: DraftStep) -> bool:
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        if not draft.tokens:
            return
        self.lookahead = self.lookahead + 2 if verdict.outcome == "bonus" else max(1, self.lookahead - 1)


def own_probability(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The draft's own of its token: a look."""
    return torch.softmax(scores.float(), -1).gather(1, token[:, None])[0]


@dataclass
class Threshold:
    """Stop after a token that the draft itself held less likely than the threshold."""

    lookahead: int
    threshold: float
    reads = True
    look = staticmethod(own_probability)
    estimates: Sequence[float] = ()

    def should_stop(self, step: DraftStep) -> bool:
        confidence = step.seen[0] if step.seen else step.confidence
        return confidence < self.threshold

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        pass


@dataclass
class AdaptiveThreshold(Threshold):
    """The threshold that would have cost least on the tokens judged so far, where stopping a token too early counts
    three times as much as drafting one too many. Tokens after the first refusal were never judged and teach nothing.

    The new threshold governs the very next round: in transformers, as published, it reached no round at all.
    """

    _judged: list[tuple[float, bool]] = field(default_factory=list, repr=False)

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._judged += [(confidence, True) for confidence in draft.confidence[: verdict.accepted]]
        if verdict.accepted < len(draft.tokens):
            self._judged.append((draft.confidence[verdict.accepted], False))
        if len(self._judged) > 5:
            self.threshold = cheapest_threshold(self._judged, self.threshold)


MISS_WEIGHT = 3  # false negatives against false positives: 75 % and 25 %


def cheapest_threshold(judged: Sequence[tuple[float, bool]], fallback: float) -> float:
    """The confidence that, taken as the least one to go on with, minimises fpr + 3 fnr; ties go to the highest."""
    good = sorted(confidence for confidence, accepted in judged if accepted)
    bad = sorted(confidence for confidence, accepted in judged if not accepted)
    if not good or not bad:
        return fallback

    def cost(threshold: float) -> float:
        refused_but_kept = len(bad) - bisect_left(bad, threshold)
        accepted_but_stopped = bisect_left(good, threshold)
        return refused_but_kept / len(bad) + MISS_WEIGHT * accepted_but_stopped / len(good)

    return min(sorted({confidence for confidence, _ in judged}, reverse=True), key=cost)


@dataclass
class Oracle:
    """A bound: asks the target about each token and stops after the first that it will refuse.

    After, not before: leaving the doomed token out would turn a correction into a bonus and skew the distribution.
    The clock stands still while it peeks; the verification that follows feeds every drafted token again, as it would
    have without peeking.
    """

    lookahead: int
    target: ModelRunner
    dice: Dice
    clock: Clock
    reads = True
    look = None
    estimates: Sequence[float] = ()

    def should_stop(self, step: DraftStep) -> bool:
        with self.clock.stopped():
            logits = self.target.extend(align(self.target, [*step.text, *step.ahead]))
            accepted = self.dice.accepts(logits, step.ahead, step.token, step.scores)
        return not accepted

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        pass
