"""Features that the classifier sees of one drafted token. All come from the draft, so stopping never biases the
output."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.disco.echoes import LONGEST
from decoding.disco.judging import MATCHES, POSITION_SCALE
from decoding.drafting.features import two_best

TOP = 10  # as published
LEAST_SCORE = -1e4  # replaces minus infinity, the score of a token that truncation rules out

# The published inputs are the ten highest probabilities, the entropy and the position. Ours add: the probability of the
# token itself (under sampling another than the highest), its margin (under shared dice it tells much, since the target
# adds the same noise), its raw score, whether the text has gone on like this before (decoding.disco.echoes), and the
# probability of the round's previous token.
# A copied token has a position and the features of the match that it was copied by, and nothing of the draft model's
# (decoding.disco.judging).
NAMES = (
    *(f"top_{i + 1}" for i in range(TOP)),
    "entropy",
    "own",
    "margin",
    "score",
    *(f"echo_{i + 1}" for i in range(LONGEST)),
    "previous",
    "position",
    *MATCHES,
)
STATIC = NAMES.index("previous")  # columns before it do not depend on the round that the token is drafted in
OWN, MARGIN, COPIED = (NAMES.index(name) for name in ("own", "margin", "copied"))
PUBLISHED = (*NAMES[:TOP], "entropy", "position")
# Features that cost next to nothing: no sum over the vocabulary, no sorting. The others add little to these.
QUICK = ("margin", "score", *(name for name in NAMES if name.startswith("echo_")), "position")
# Features among these that need no earlier text.
GLANCE = ("margin", "score", "position")
UNHEARD = (0.0,) * LONGEST  # without echoes
UNMATCHED = (0.0,) * len(MATCHES)  # of a drafted token


def describe(scores: Tensor, preferences: Tensor, ids: Tensor, echoes: Tensor | None = None) -> Tensor:
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
    heard = scores.new_zeros(len(ids), LONGEST) if echoes is None else echoes.to(scores.device)
    return torch.cat((top, entropy, own, margin, score, heard), -1)


def margin_and_score(scores: Tensor, preferences: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Margin and score of each token, [n, 1] each."""
    best = preferences.float().topk(2, -1).values.clamp(min=LEAST_SCORE)
    margin = torch.log1p(best[:, :1] - best[:, 1:])  # truncation may leave no second candidate
    return margin, scores.gather(1, ids[:, None])


def describe_one(
    scores: Tensor, preferences: Tensor, token: int, echoes: Sequence[float] = UNHEARD, *, quick: bool = False
) -> list[float]:
    """Compute the static features of one token. With `quick`, compute those of QUICK only and leave the others 0: this
    runs after every drafted token, and on small models each call of torch counts."""
    if not quick:
        rows = describe(scores, preferences, torch.tensor([token], device=scores.device))
        return [*rows[0, :-LONGEST].tolist(), *echoes]
    margin, score = glance(scores, preferences, token)
    return [*[0.0] * (TOP + 2), margin, score, *echoes]


def quick_one(first: float, second: float, score: float, echoes: Sequence[float]) -> list[float]:
    """Describe one token from its two best preferences, its score and its echoes."""
    return [*[0.0] * (TOP + 2), log1p(first - max(second, LEAST_SCORE)), score, *echoes]


def glance(scores: Tensor, preferences: Tensor, token: int) -> tuple[float, float]:
    """Margin and score of one token."""
    try:
        score = scores.numpy().item(token)
        best, second = two_best(preferences, token)
    except TypeError:  # on a GPU, or in a format that numpy lacks: read all three with one wait
        best, second, score = torch.cat((preferences[0].topk(2).values, scores[0, token, None])).tolist()
    return log1p(best - (second if second > LEAST_SCORE else LEAST_SCORE)), score


def in_round(static: Tensor, previous: Tensor, position: Tensor) -> Tensor:
    """Join a drafted token's features: the static ones [n, STATIC], the probability of the previous token [n] (1 for a
    round's first), and the position in the round [n], from 1."""
    unmatched = static.new_zeros(len(static), len(MATCHES))
    return torch.cat((static, previous[:, None], position[:, None] / POSITION_SCALE, unmatched), -1)


def peak(static: Tensor) -> Tensor:
    """The draft's probability of its likeliest token."""
    return static[..., 0]


def lead(static: Tensor) -> Tensor:
    """By how much the draft prefers each token to its second choice, as a probability."""
    return torch.sigmoid(torch.expm1(static[..., MARGIN]))


def own(static: Tensor) -> Tensor:
    """The draft's probability of each token."""
    return static[..., OWN]
