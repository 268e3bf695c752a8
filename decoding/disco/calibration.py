"""Calibration of a classifier for greedy decoding, if it was trained at a temperature. Where nothing is drawn, a sure
draft is right more often than its classifier has learnt, and an unsure one less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier

GREEDY = "greedy"  # its part of the card


@dataclass(frozen=True)
class Calibration:
    """Correction of a drafted token's logit, and the thresholds that belong to it."""

    scale: float
    shift: float
    thresholds: Mapping[str, float]
    sweep: Mapping[str, Any]  # what rounds look like by the threshold of the priced rule
    sampling: Mapping[str, Any]  # of the texts that it was fitted on
    labelled: int  # tokens of them

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Calibration | None:
        """Read it from a card; None if the card has none, or was made by hand."""
        try:
            found = cls(**card[GREEDY])
            is_usable = found.scale > 0 and isinstance(found.shift, float) and {**found.thresholds, **found.sweep}
            return found if is_usable else None
        except (KeyError, TypeError):
            return None

    def corrected(self, classifier: DraftClassifier) -> DraftClassifier:
        card = {**classifier.card, "sampling": self.sampling}
        card |= {name: {**(card.get(name) or {}), **getattr(self, name)} for name in ("thresholds", "sweep")}
        return replace(classifier.scaled(self.scale, self.shift), card=card, prices=classifier.prices)


def under(classifier: DraftClassifier, sampling: Sampling) -> DraftClassifier:
    """Return the classifier as it estimates under this sampling."""
    found = Calibration.of(classifier.card) if sampling.is_greedy else None
    return found.corrected(classifier) if found else classifier
