"""Classifier estimates for replay, and the price that the priced rule uses."""

from __future__ import annotations

import torch
from torch import Tensor

from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.recording import Recording
from decoding.prices.cost_model import CostModel


def price(costs: CostModel, tokens_per_s: float, follows: float) -> float:
    """Return the threshold of the priced rule: the cost of one more drafted token (draft it, decide, verify one more
    row), in tokens, divided by `follows`, the probability that a token is accepted after an accepted one. If that is 0,
    return 1: a draft then ends after its first token."""
    if not follows:
        return 1.0
    return tokens_per_s * (costs.draft(1) + costs.decision + costs.row()) / follows


def rounds_from_everywhere(recording: Recording, cap: int) -> Tensor:
    """Return the static features of the rounds that start at each position, `cap` tokens each: [N, cap, STATIC]. After
    a round's first refused token they are those of the tail."""
    count = len(recording.matches)
    runs = torch.tensor(recording.record.runs)
    starts, steps = torch.arange(count)[:, None], torch.arange(cap)[None]
    rows = recording.static[(starts + steps).clamp(max=count - 1)]
    if not recording.tails.numel():
        return rows
    tail_of = ((~recording.matches).cumsum(0) - 1)[(starts[:, 0] + runs).clamp(max=count - 1)].clamp(min=0)
    depth = (steps - runs[:, None] - 1).clamp(0, recording.tails.shape[1] - 1)
    return torch.where((steps <= runs[:, None])[..., None], rows, recording.tails[tail_of[:, None], depth])


@torch.inference_mode()
def estimates(classifier: DraftClassifier, rounds: Tensor) -> Tensor:
    """Estimate each token of `rounds_from_everywhere` with the classifier: [N, cap]."""
    count, cap, _ = rounds.shape
    own = features.own(rounds)
    previous = torch.cat((torch.ones(count, 1), own[:, :-1]), 1)
    position = torch.arange(1.0, cap + 1).expand(count, -1)
    table = features.in_round(rounds.flatten(0, 1), previous.flatten(), position.flatten())
    return classifier(table).view(count, cap)
