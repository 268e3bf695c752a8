"""A classifier's estimate of a drafted token: the probability that the target accepts it. It is made between two passes
of the draft model, which evict it from the CPU's caches, so calls are slow."""

from __future__ import annotations

import torch
from torch import Tensor

from decoding.disco import features, judging
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.features import DraftStep, Feature


class Glance(Feature):
    """Estimate of a classifier that uses GLANCE features alone."""

    def __init__(self, classifier: DraftClassifier) -> None:
        self.classifier = classifier
        self.look = classifier.glance

    def of(self, step: DraftStep) -> float:
        if step.seen:
            return step.seen[0]
        return self.classifier.quickly(*features.glance(step.scores, step.preferences, step.token), step.drafted)


class Full(Feature):
    """Estimate of a classifier that uses every feature."""

    def __init__(self, classifier: DraftClassifier) -> None:
        self.classifier = classifier

    def of(self, step: DraftStep) -> float:
        return fully(self.classifier, step.scores, step.preferences, step.token, step.drafted)


def fully(classifier: DraftClassifier, scores: Tensor, preferences: Tensor, token: int, ahead: int) -> float:
    """Estimate one token by every feature. It was chosen from `scores` by `preferences` [1, V], and the draft has
    `ahead` tokens before it."""
    static = features.describe(scores, preferences, torch.tensor([token], device=scores.device)).cpu()
    others = torch.tensor([[(ahead + 1) / judging.POSITION_SCALE, *features.UNMATCHED]])
    return float(classifier.drafted.logits(torch.cat((static, others), 1)).sigmoid())


def estimate_of(classifier: DraftClassifier) -> Feature:
    """Return the cheapest way to this classifier's estimates, for one text."""
    return (Glance if classifier.glances else Full)(classifier)
