"""Stop rules with a classifier: it estimates after each drafted token whether the target will accept it, and a policy
decides. They run between two passes of the draft model, which evict them from the CPU's caches, so calls are slow."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from decoding.disco import features, judging
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.disco.features import glance
from decoding.drafters.rule import DraftStep
from decoding.stopping import Driven, Words
from decoding.strategy import Policy


class Estimating(Driven):
    """Shows a policy the classifier's estimate of each token."""

    reads = True

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, words)
        self.classifier = classifier
        self.estimates = self._made = list[float]()

    def begin(self, text: Sequence[int]) -> None:
        super().begin(text)
        self.estimates = self._made = []

    def _weigh(self, estimate: float) -> bool:
        self._made.append(estimate)
        return self.policy.stops(estimate)


class Glance(Estimating):
    """Stop rule for a classifier that uses GLANCE features alone."""

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self.look = classifier.glance
        self._units = classifier.units
        self._bias = float(classifier.drafted.out_bias)

    def should_stop(self, step: DraftStep) -> bool:
        if step.seen:
            return self._weigh(*step.seen)
        return self._judge(step, (len(step.ahead),))

    def _judge(self, step: DraftStep, known: tuple[float, ...]) -> bool:
        """Estimate one token and ask the policy. `known` are the features with few possible values: the number of
        tokens drafted before it, and the echoes if used."""
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
        return self._weigh(1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0)


class Quick(Glance):
    """Stop rule for a classifier that uses QUICK features: echoes too."""

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self.look = None
        self._echoes = Echoes()

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._echoes.follow(step.text)
        echoes = self._echoes.of(step.token)
        self._echoes.take(step.token)
        return self._judge(step, (len(step.ahead), *echoes))


class Full(Estimating):
    """Stop rule for a classifier that uses every feature."""

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self._echoes = Echoes()
        self._previous = 1.0  # the draft's probability of the round's previous token

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._echoes.follow(step.text)
            self._previous = 1.0
        echoes = self._echoes.of(step.token)
        self._echoes.take(step.token)
        static = features.describe_one(step.scores, step.preferences, step.token, echoes)
        estimate = self.classifier.one(
            [*static, self._previous, (len(step.ahead) + 1) / judging.POSITION_SCALE, *features.UNMATCHED]
        )
        self._previous = static[features.OWN]
        return self._weigh(estimate)


def estimating(policy: Policy, classifier: Classifier, words: Words) -> Estimating:
    """Return the cheapest stop rule for this classifier."""
    kind = Glance if classifier.glances else Quick if classifier.quick else Full
    return kind(policy, classifier, words)
