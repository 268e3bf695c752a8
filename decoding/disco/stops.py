"""A classifier beside the draft: it estimates after each drafted token whether the target will accept it, and a policy
decides. It is asked between two passes of a model that leave nothing of this in the caches: each call counts."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.disco.features import glance
from decoding.drafting import DraftStep
from decoding.stopping import Driven, Words
from decoding.strategies.base import Policy


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


class Unrolled(Estimating):
    """For a classifier that looks at these features and the position alone."""

    features: tuple[str, ...]

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self._units: list[list[tuple[float, ...]]] = []
        self._bias = float(classifier.out_bias)

    def begin(self, text: Sequence[int]) -> None:
        super().begin(text)
        if self.lookahead > len(self._units):
            self._units = _units(self.classifier, self.features, self.lookahead)


class Glance(Unrolled):
    """For a classifier that looks at nothing but features.GLANCE."""

    features = ("margin", "score")

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self.look = classifier.glance

    def should_stop(self, step: DraftStep) -> bool:
        if step.seen:
            return self._weigh(*step.seen)
        margin, score = glance(step.scores, step.preferences, step.token, step.row)
        logit = self._bias
        for of_margin, of_score, bias, say in self._units[len(step.ahead)]:
            hidden = of_margin * margin + of_score * score + bias
            if hidden > 0.0:
                logit += say * hidden
        return self._weigh(1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0)


class Quick(Unrolled):
    """For one that looks at features.QUICK: also at what the text has said before."""

    features = ("margin", "score", "echo_1", "echo_2", "echo_3")

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self._echoes = Echoes()

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._echoes.follow(step.text)
        once, twice, thrice = self._echoes.of(step.token)
        self._echoes.take(step.token)
        margin, score = glance(step.scores, step.preferences, step.token, step.row)
        logit = self._bias
        for of_margin, of_score, of_once, of_twice, of_thrice, bias, say in self._units[len(step.ahead)]:
            hidden = (
                of_margin * margin + of_score * score + of_once * once + of_twice * twice + of_thrice * thrice + bias
            )
            if hidden > 0.0:
                logit += say * hidden
        return self._weigh(1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0)


class Full(Estimating):
    """For one that looks at every feature."""

    def __init__(self, policy: Policy, classifier: Classifier, words: Words) -> None:
        super().__init__(policy, classifier, words)
        self._echoes = Echoes()
        self._previous = 1.0  # the draft's probability of the token before, where there is one

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._echoes.follow(step.text)
            self._previous = 1.0
        echoes = self._echoes.of(step.token)
        self._echoes.take(step.token)
        static = features.describe_one(step.scores, step.preferences, step.token, echoes)
        estimate = self.classifier.one([*static, self._previous, (len(step.ahead) + 1) / features.POSITION_SCALE])
        self._previous = static[features.OWN]
        return self._weigh(estimate)


def _units(classifier: Classifier, names: Sequence[str], longest: int) -> list[list[tuple[float, ...]]]:
    """For each position up to the `longest` draft, the hidden units: the weights of these features, the bias with the
    position added beforehand, and the unit's weight in the output."""
    weights, says = classifier.hidden.double(), classifier.out[0].tolist()
    of_features = [weights[:, features.NAMES.index(name)].tolist() for name in names]
    of_position = weights[:, features.NAMES.index("position")]
    units = []
    for number in range(1, longest + 1):
        biases = classifier.hidden_bias + of_position * (number / features.POSITION_SCALE)
        units.append(list(zip(*of_features, biases.tolist(), says, strict=True)))
    return units


def estimating(policy: Policy, classifier: Classifier, words: Words) -> Estimating:
    """The cheapest way to ask this classifier."""
    kind = Glance if classifier.glances else Quick if classifier.quick else Full
    return kind(policy, classifier, words)
