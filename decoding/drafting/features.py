"""Features: what a source may see of a token that a model has drafted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf

import torch
from torch import Tensor

from decoding.dice.choosing import Look
from decoding.dice.dice import Dice
from decoding.dice.verify import Draft
from decoding.models.runner import ModelRunner, rewind_to
from decoding.trace.timing import Clock


@dataclass  # one is made after every token, and making a frozen one takes 3 times as long
class DraftStep:
    """One drafted token."""

    text: Sequence[int]  # the committed tokens
    ahead: Sequence[int]  # the round's tokens before this one
    token: int
    scores: Tensor  # [1, V], what it was chosen from
    preferences: Tensor  # [1, V], what the dice chose by: under shared dice, scores plus noise
    seen: Sequence[float] = ()  # the value of the feature's look, if one was launched
    copied: int = 0  # tokens of `ahead` that another source has copied

    @property
    def drafted(self) -> int:
        """Tokens of the round that the model has drafted before this one."""
        return len(self.ahead) - self.copied

    @cached_property
    def confidence(self) -> float:
        return float(torch.softmax(self.scores.float(), -1)[0, self.token])


class Feature:
    """Value of a drafted token that a source is shown. One object serves one text."""

    look: Look | None = None  # computes `DraftStep.seen` on the device, in the launch that chooses the token

    def of(self, step: DraftStep) -> float:
        raise NotImplementedError


class Confidence(Feature):
    """The draft's probability of its token."""

    def of(self, step: DraftStep) -> float:
        return step.confidence


def peak(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The draft's probability of its likeliest token: a look."""
    return torch.softmax(scores.float(), -1).amax(-1)


class Peak(Feature):
    """The draft's probability of its likeliest token."""

    look = staticmethod(peak)

    def of(self, step: DraftStep) -> float:
        return step.seen[0] if step.seen else float(torch.softmax(step.scores.float(), -1).max())


def lead(scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
    """The lead of the draft's choice: a look."""
    best = preferences.float().topk(2, -1).values
    return torch.sigmoid(best[:, 0] - best[:, 1])


class Lead(Feature):
    """By how much the draft prefers its token to its second choice. Under shared dice this tells more than the token's
    probability, as the target adds the same noise, and needs no sum over the vocabulary."""

    look = staticmethod(lead)

    def of(self, step: DraftStep) -> float:
        if step.seen:
            return step.seen[0]
        try:
            best, second = two_best(step.preferences, step.token)
        except TypeError:  # on a GPU
            best, second = step.preferences[0].topk(2).values.tolist()
        return 1.0 / (1.0 + exp(second - best))


class Fate(Feature):
    """Whether the target will accept the token, by asking the target. For bounds only.

    The clock stops meanwhile. The verification afterwards reads every drafted token again, as it would without peeking.
    """

    def __init__(self, target: ModelRunner, dice: Dice, clock: Clock) -> None:
        self._target, self._dice, self.clock = target, dice, clock

    def of(self, step: DraftStep) -> float:
        with self.clock.stopped():
            logits = self._target.extend(rewind_to(self._target, [*step.text, *step.ahead]))
            return float(self._dice.accepts(logits, step.ahead, step.token, step.scores))

    def accepted(self, text: Sequence[int], tokens: Sequence[int]) -> int:
        """Return how many tokens of a copy the target will accept."""
        need = len(tokens) + 1
        logits = self._target.extend(rewind_to(self._target, [*text, *tokens], need), need)
        return self._dice.judge(logits, Draft(tuple(tokens), None, need, "rule", "copied", 0)).accepted


def two_best(preferences: Tensor, token: int) -> tuple[float, float]:
    """Find the best two preferences on a CPU, by argmax with the token masked: topk takes 20 times as long, max 3
    times."""
    row = preferences.numpy()[0]
    best: float = row.item(token)
    row[token] = -inf
    second: float = row.item(row.argmax())
    row[token] = best
    if second > best:  # under ratio dice the token need not be the winner
        best, second = preferences[0].topk(2).values.tolist()
    return best, second
