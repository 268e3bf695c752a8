"""The classifier's word for tokens that were drafted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.ssd.chain import Chain


@dataclass(frozen=True)
class Estimator:
    classifier: Classifier

    def one(
        self, chain: Chain, scores: Tensor, liked: Tensor, token: int, echoes: Echoes, best: Sequence[float] = ()
    ) -> tuple[float, float]:
        """That this token is accepted, where the chain has estimates for all before it, and the draft's own
        probability of it; scores [1, V]. `best` are the two highest likings, where somebody has looked for them."""
        heard, in_round = echoes.of(token), (chain.previous, (len(chain.estimates) + 1) / features.POSITION_SCALE)
        if best and self.classifier.quick:
            static = features.quick_one(best[0], best[1], float(scores[0, token]), heard)
        else:
            static = features.describe_one(scores, liked, token, heard, quick=self.classifier.quick)
        return self.classifier.one([*static, *in_round]), static[features.OWN]
