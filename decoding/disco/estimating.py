"""A classifier's estimate of a drafted token: the probability that the target accepts it. It is made between two passes
of the draft model, which evict it from the CPU's caches, so calls are slow."""

from __future__ import annotations

from math import exp

from decoding.disco import features, judging
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.disco.features import glance
from decoding.drafting.features import DraftStep, Feature


class Glance(Feature):
    """Estimate of a classifier that uses GLANCE features alone."""

    def __init__(self, classifier: DraftClassifier) -> None:
        self.classifier = classifier
        self.look = classifier.glance
        self._units = classifier.units
        self._bias = float(classifier.drafted.out_bias)

    def of(self, step: DraftStep) -> float:
        if step.seen:
            return step.seen[0]
        return self._estimate(step, (step.drafted,))

    def _estimate(self, step: DraftStep, known: tuple[float, ...]) -> float:
        """Estimate one token. `known` are the features with few possible values: the number of tokens drafted before
        it, and the echoes if used."""
        units = self._units.get(known)
        if units is None:
            ahead, *echoes = known
            units = self.classifier.unrolled(ahead, *echoes)
        margin, score = glance(step.scores, step.preferences, step.token)
        logit = self._bias
        for of_margin, of_score, bias, weight in units:
            hidden = of_margin * margin + of_score * score + bias
            if hidden > 0.0:
                logit += weight * hidden
        return 1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0


class Quick(Glance):
    """Estimate of a classifier that uses QUICK features: echoes too."""

    def __init__(self, classifier: DraftClassifier) -> None:
        super().__init__(classifier)
        self.look = None
        self._echoes = Echoes()

    def of(self, step: DraftStep) -> float:
        return self._estimate(step, (step.drafted, *echoes_of(step, self._echoes)))


class Full(Feature):
    """Estimate of a classifier that uses every feature."""

    def __init__(self, classifier: DraftClassifier) -> None:
        self.classifier = classifier
        self._echoes = Echoes()
        self._previous = 1.0  # the draft's probability of the token that it drafted before in this round

    def of(self, step: DraftStep) -> float:
        echoes = echoes_of(step, self._echoes)
        static = features.describe_one(step.scores, step.preferences, step.token, echoes)
        previous = self._previous if step.drafted else 1.0
        estimate = self.classifier.one(
            [*static, previous, (step.drafted + 1) / judging.POSITION_SCALE, *features.UNMATCHED]
        )
        self._previous = static[features.OWN]
        return estimate


def echoes_of(step: DraftStep, echoes: Echoes) -> list[float]:
    """Return the echoes of a drafted token, and remember it. A copy before it is as good as text."""
    if not step.drafted:
        echoes.follow(step.text)
        for token in step.ahead:
            echoes.take(token)
    found = echoes.of(step.token)
    echoes.take(step.token)
    return found


def estimate_of(classifier: DraftClassifier) -> Feature:
    """Return the cheapest way to this classifier's estimates, for one text."""
    return (Glance if classifier.glances else Quick if classifier.quick else Full)(classifier)
