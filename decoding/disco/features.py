"""What the classifier sees of one drafted token. Draft side only, so that stopping can never bias the output."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

TOP = 10  # as published
LEAST_SCORE = -1e4  # stands for the minus infinity of a token that truncation rules out
POSITION_SCALE = 20.0  # positions are given in units of the published cap

# The published inputs are the ten likeliest probabilities, the entropy and the position. Ours beside them: the
# probability of the token itself (another than the likeliest under sampling), by how much it won (under shared dice
# that tells much, since the target adds the same noise), and the probability of the round's token before it.
NAMES = (*(f"top_{i + 1}" for i in range(TOP)), "entropy", "own", "margin", "previous", "position")
STATIC = TOP + 3  # the first columns belong to a token whatever round it is drafted in


def describe(scores: Tensor, preferences: Tensor, ids: Tensor) -> Tensor:
    """The static columns for rows of scores [n, V] from which `ids` [n] were chosen by `preferences` [n, V]."""
    scores = scores.float().clamp(min=LEAST_SCORE)
    probabilities = torch.softmax(scores, -1)
    top = probabilities.topk(min(TOP, scores.shape[-1]), -1).values
    if top.shape[-1] < TOP:
        top = F.pad(top, (0, TOP - top.shape[-1]))
    # The entropy without a logarithm per token: log p is the score less what normalises it.
    normaliser = scores.amax(-1, keepdim=True) - top[:, :1].log()
    entropy = normaliser - (probabilities * scores).sum(-1, keepdim=True)
    own = probabilities.gather(1, ids[:, None])
    best = preferences.float().topk(2, -1).values
    margin = torch.log1p(best[:, :1] - best[:, 1:])
    return torch.cat((top, entropy, own, margin), -1)


def describe_one(scores: Tensor, preferences: Tensor, token: int) -> list[float]:
    """The same for one token [V], in a quarter of the time: it is asked after every drafted token, and on small models
    each call of torch counts."""
    probabilities = torch.softmax(scores, -1)
    top: list[float] = probabilities.topk(min(TOP, len(scores)))[0].tolist()
    best: list[float] = preferences.topk(2)[0].tolist()
    own, score = float(probabilities[token]), float(scores[token])
    normaliser = score - math.log(own) if own > 0 else float(scores.logsumexp(-1))
    entropy = normaliser - float(torch.dot(probabilities, scores.clamp(min=LEAST_SCORE)))
    return [*top, *[0.0] * (TOP - len(top)), entropy, own, math.log1p(best[0] - best[1])]


def in_round(static: Tensor, previous: Tensor, position: Tensor) -> Tensor:
    """All columns: rows [n, STATIC] with the probability of the token before [n] (1 for a round's first) and the
    position in the round [n], from 1."""
    return torch.cat((static, previous[:, None], position[:, None] / POSITION_SCALE), -1)


def own(static: Tensor) -> Tensor:
    """The draft's probability of each token itself."""
    return static[..., NAMES.index("own")]
