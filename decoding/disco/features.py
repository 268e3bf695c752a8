"""Features that the classifier sees of one drafted token. All come from the draft, so stopping never biases the
output."""

from __future__ import annotations

from math import log1p

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.disco.judging import MATCHES, POSITION_SCALE
from decoding.drafting.features import two_best

TOP = 10  # as published
LEAST_SCORE = -1e4  # replaces minus infinity, the score of a token that truncation rules out

# The published inputs are the ten highest probabilities, the entropy and the position. Ours are a token's margin (under
# shared dice it tells much, since the target adds the same noise), its raw score, and the position. Replays of rules
# without a classifier need the probability of the token itself (under sampling another than the highest).
# A copied token has a position and the features of the match that it was copied by, and nothing of the draft model's
# (decoding.disco.judging).
NAMES = (
    *(f"top_{i + 1}" for i in range(TOP)),
    "entropy",
    "own",
    "margin",
    "score",
    "position",
    *MATCHES,
)
STATIC = NAMES.index("position")  # columns before it do not depend on the round that the token is drafted in
OWN, MARGIN, COPIED = (NAMES.index(name) for name in ("own", "margin", "copied"))
PUBLISHED = (*NAMES[:TOP], "entropy", "position")
GLANCE = ("margin", "score", "position")  # they cost next to nothing: no sum over the vocabulary, no sorting
UNMATCHED = (0.0,) * len(MATCHES)  # of a drafted token


def describe(scores: Tensor, preferences: Tensor, ids: Tensor) -> Tensor:
    """Compute the static features of the tokens `ids` [n], chosen from `scores` [n, V] by `preferences` [n, V]."""
    scores = scores.float().clamp(min=LEAST_SCORE)
    probabilities = torch.softmax(scores, -1)
    top = probabilities.topk(min(TOP, scores.shape[-1]), -1).values
    if top.shape[-1] < TOP:
        top = F.pad(top, (0, TOP - top.shape[-1]))
    # Entropy without a logarithm per token: log p is the score less its normaliser.
    normaliser = scores.amax(-1, keepdim=True) - top[:, :1].log()
    entropy = normaliser - (probabilities * scores).sum(-1, keepdim=True)
    own = probabilities.gather(1, ids[:, None])
    margin, score = margin_and_score(scores, preferences, ids)
    return torch.cat((top, entropy, own, margin, score), -1)


def margin_and_score(scores: Tensor, preferences: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Margin and score of each token, [n, 1] each."""
    best = preferences.float().topk(2, -1).values.clamp(min=LEAST_SCORE)
    margin = torch.log1p(best[:, :1] - best[:, 1:])  # truncation may leave no second candidate
    return margin, scores.gather(1, ids[:, None])


def glance(scores: Tensor, preferences: Tensor, token: int) -> tuple[float, float]:
    """Margin and score of one token."""
    try:
        score = scores.numpy().item(token)
        best, second = two_best(preferences, token)
    except TypeError:  # on a GPU, or in a format that numpy lacks: read all three with one wait
        best, second, score = torch.cat((preferences[0].topk(2).values, scores[0, token, None])).tolist()
    return lead_of(best, second), score


def lead_of(best: float, second: float) -> float:
    """Margin of the best of two preferences."""
    return log1p(best - (second if second > LEAST_SCORE else LEAST_SCORE))


def in_round(static: Tensor, position: Tensor) -> Tensor:
    """Join a drafted token's features: the static ones [n, STATIC], and the position in the round [n], from 1."""
    unmatched = static.new_zeros(len(static), len(MATCHES))
    return torch.cat((static, position[:, None] / POSITION_SCALE, unmatched), -1)


def peak(static: Tensor) -> Tensor:
    """The draft's probability of its likeliest token."""
    return static[..., 0]


def lead(static: Tensor) -> Tensor:
    """By how much the draft prefers each token to its second choice, as a probability."""
    return torch.sigmoid(torch.expm1(static[..., MARGIN]))


def own(static: Tensor) -> Tensor:
    """The draft's probability of each token."""
    return static[..., OWN]
