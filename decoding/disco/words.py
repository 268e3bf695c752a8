"""A classifier's word for the token that was just drafted. It is given after every one of them, between two passes of a
model that leave nothing of this in the caches: each call and each object that is not needed counts."""

from __future__ import annotations

import math
from typing import Protocol

from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.drafting import DraftStep


class Word(Protocol):
    """One sample's: it may remember what was drafted before."""

    def __call__(self, step: DraftStep) -> float: ...


def word_of(classifier: Classifier, longest: int) -> Word:
    return Glance(classifier, longest) if classifier.glances else Ear(classifier)


class Glance:
    """Of a classifier that looks at nothing but features.GLANCE. What a position adds is worked out beforehand."""

    def __init__(self, classifier: Classifier, longest: int) -> None:
        """`longest` is the most tokens that a draft may have."""
        margin, score, position = (features.NAMES.index(name) for name in features.GLANCE)
        weights, says = classifier.hidden.double(), classifier.out[0].tolist()
        of_margin, of_score = weights[:, margin].tolist(), weights[:, score].tolist()
        self._bias = float(classifier.out_bias)
        self._units = []  # by position: each hidden unit's weights, its bias there, and its say
        for number in range(1, longest + 1):
            biases = classifier.hidden_bias + weights[:, position] * (number / features.POSITION_SCALE)
            self._units.append(list(zip(of_margin, of_score, biases.tolist(), says, strict=True)))

    def __call__(self, step: DraftStep) -> float:
        margin, score = features.glance(step.scores, step.preferences, step.token)
        logit = self._bias
        for of_margin, of_score, bias, say in self._units[len(step.ahead)]:
            hidden = of_margin * margin + of_score * score + bias
            if hidden > 0.0:
                logit += say * hidden
        return 1.0 / (1.0 + math.exp(-logit)) if logit > -700.0 else 0.0


class Ear:
    """Of one that looks at more, among it what the text has said before."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._echoes = Echoes()
        self._previous = 1.0  # the draft's probability of the token before, where one is

    def __call__(self, step: DraftStep) -> float:
        if not step.ahead:
            self._echoes.follow(step.text)
            self._previous = 1.0
        echoes = self._echoes.of(step.token)
        self._echoes.take(step.token)
        quick, position = self._classifier.quick, (len(step.ahead) + 1) / features.POSITION_SCALE
        static = features.describe_one(step.scores, step.preferences, step.token, echoes, quick=quick)
        accepted = self._classifier.one([*static, self._previous, position])
        self._previous = static[features.OWN]
        return accepted
