"""Stop rules that ask the classifier for its word on each token that was just drafted. It is asked between two passes
of a model that leave nothing of this in the caches: each call and each object that is not needed counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from decoding.choosing import Look
from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.disco.features import glance
from decoding.drafting import Draft, DraftStep
from decoding.verify import Verdict


@dataclass
class ClassifierStop:
    """As published: stop after a token that the classifier gives less than the threshold.

    Or by price (`by_price`): go on while one more token is worth the time that it takes. What it brings is the chance
    that all of the draft so far is accepted, times the chance that a token is whose predecessors were; the threshold is
    the first of these at which the two come out even. That is the best stopping time wherever the words for the tokens
    to come do not depend on those so far: the chance that all is accepted only falls, so what is not worth its time now
    will not be later (docs/decisions/0010)."""

    lookahead: int
    classifier: Classifier
    threshold: float
    by_price: bool
    reads = True
    estimates: Sequence[float] = ()

    def __post_init__(self) -> None:
        self._begin()

    def should_stop(self, step: DraftStep) -> bool:
        raise NotImplementedError

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._begin()

    @property
    def look(self) -> Look | None:
        return None

    def _begin(self) -> None:
        """A round."""
        self.estimates = self._said = list[float]()
        self._survival = 1.0  # that all of the draft is accepted; by the published rule, that its last token is

    def _weigh(self, accepted: float) -> bool:
        """Whether to stop at the classifier's word for the next token."""
        self._said.append(accepted)
        self._survival = accepted * self._survival if self.by_price else accepted
        return self._survival < self.threshold


class GlanceStop(ClassifierStop):
    """Of a classifier that looks at nothing but features.GLANCE. What a position adds is worked out beforehand."""

    def __post_init__(self) -> None:
        super().__post_init__()
        margin, score, position = (features.NAMES.index(name) for name in features.GLANCE)
        weights, says = self.classifier.hidden.double(), self.classifier.out[0].tolist()
        of_margin, of_score = weights[:, margin].tolist(), weights[:, score].tolist()
        self._bias = float(self.classifier.out_bias)
        self._units = []  # by position: each hidden unit's weights, its bias there, and its say
        for number in range(1, self.lookahead + 1):
            biases = self.classifier.hidden_bias + weights[:, position] * (number / features.POSITION_SCALE)
            self._units.append(list(zip(of_margin, of_score, biases.tolist(), says, strict=True)))

    @property
    def look(self) -> Look:
        return self.classifier.glance

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


class EarStop(ClassifierStop):
    """Of one that looks at more, among it what the text has said before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._echoes = Echoes()
        self._previous = 1.0  # the draft's probability of the token before, where one is

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._echoes.follow(step.text)
            self._previous = 1.0
        echoes = self._echoes.of(step.token)
        self._echoes.take(step.token)
        quick, position = self.classifier.quick, (len(step.ahead) + 1) / features.POSITION_SCALE
        static = features.describe_one(step.scores, step.preferences, step.token, echoes, quick=quick)
        accepted = self.classifier.one([*static, self._previous, position])
        self._previous = static[features.OWN]
        return self._weigh(accepted)


def stop_of(rule: str, lookahead: int, classifier: Classifier, threshold: float) -> ClassifierStop:
    """`rule` as in decoding.spec: threshold or priced."""
    kind = GlanceStop if classifier.glances else EarStop
    return kind(lookahead, classifier, threshold, by_price=rule == "priced")
