"""The classifier's word for tokens as they are drafted: one at a time, or one in each of several branches."""

from __future__ import annotations

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
        static = features.describe_one(scores, liked, token)
        position = (len(chain.tokens) + 1) / features.POSITION_SCALE
        return self.classifier.one([*static, chain.previous, position]), static[OWN]

    def rows(self, chains: Sequence[Chain], scores: Tensor, liked: Tensor, ids: Tensor) -> list[tuple[float, float]]:
        """The same for a token after each chain; scores [n, V]."""
        static = features.describe(scores, liked, ids)
        rest = torch.tensor([[chain.previous, len(chain.tokens) + 1.0] for chain in chains], device=static.device)
        said = self.classifier(features.in_round(static, rest[:, 0], rest[:, 1]))
        return list(zip(said.tolist(), features.own(static).tolist(), strict=True))
