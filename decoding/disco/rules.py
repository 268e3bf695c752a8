"""Classifier estimates for replay, and the price that the priced rule uses."""

from __future__ import annotations

import torch
from torch import Tensor

from decoding.costs import Costs
from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.recording import Recording


def price(costs: Costs, tokens_per_s: float, follows: float) -> float:
    """Cost of one more drafted token (drafting, deciding, one more row to verify) in tokens, divided by the chance
    `follows` that a token is accepted after an accepted one. If no token ever was, 1: only the first token is worth
    it."""
    if not follows:
        return 1.0
    return tokens_per_s * (costs.draft + costs.decision + costs.row()) / follows


def rounds_from_everywhere(recording: Recording, cap: int) -> Tensor:
    """Static columns of every token of the rounds that start at each position: [N, cap, STATIC]. After the first
    refusal they describe the tail."""
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
def estimates(classifier: Classifier, rounds: Tensor) -> Tensor:
    """The classifier's estimate for each token of such rounds: [N, cap]."""
    count, cap, _ = rounds.shape
    own = features.own(rounds)
    previous = torch.cat((torch.ones(count, 1), own[:, :-1]), 1)
    position = torch.arange(1.0, cap + 1).expand(count, -1)
    table = features.in_round(rounds.flatten(0, 1), previous.flatten(), position.flatten())
    return classifier(table).view(count, cap)
