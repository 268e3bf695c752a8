"""The classifier's word for tokens as they are drafted: one at a time, or one in each of several branches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.ssd.chain import Chain

OWN = features.NAMES.index("own")


@dataclass(frozen=True)
class Estimator:
    classifier: Classifier

    def one(self, chain: Chain, scores: Tensor, liked: Tensor, token: int) -> tuple[float, float]:
        """That this token after the chain is accepted, and the draft's own probability of it; scores [V]."""
        echoes, is_quick = chain.echoes.of(token), self.classifier.quick
        static = features.describe_one(scores, liked, token, echoes, quick=is_quick)
        return self.classifier.one([*static, *_in_round(chain)]), static[OWN]

    def rows(
        self, chains: Sequence[Chain], scores: Tensor, liked: Tensor, ids: Tensor, tokens: Sequence[int]
    ) -> list[tuple[float, float]]:
        """The same for a token after each chain; scores [n, V]."""
        echoes = [chain.echoes.of(token) for chain, token in zip(chains, tokens, strict=True)]
        if self.classifier.quick:
            static = _quickly(scores, liked, ids, echoes)
        else:
            static = features.describe(scores, liked, ids, torch.tensor(echoes)).tolist()
        rows = [[*row, *_in_round(chain)] for row, chain in zip(static, chains, strict=True)]
        said: list[float] = self.classifier(torch.tensor(rows)).tolist()
        return [(estimate, row[OWN]) for estimate, row in zip(said, static, strict=True)]


def _quickly(scores: Tensor, liked: Tensor, ids: Tensor, echoes: Sequence[Sequence[float]]) -> list[list[float]]:
    """What `features.describe_one` says quickly, of several rows."""
    best: list[list[float]] = liked.topk(2, -1).values.tolist()
    own: list[float] = scores.gather(1, ids[:, None])[:, 0].tolist()
    nothing = [0.0] * (features.TOP + 2)
    return [
        [*nothing, math.log1p(first - second), score, *heard]
        for (first, second), score, heard in zip(best, own, echoes, strict=True)
    ]


def _in_round(chain: Chain) -> tuple[float, float]:
    return chain.previous, (len(chain.tokens) + 1) / features.POSITION_SCALE
