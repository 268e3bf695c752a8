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
from decoding.drafters.base import Draft
from decoding.drafters.rule import DraftStep
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
    """Of a classifier that looks at nothing but features.GLANCE."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._units = _units(self.classifier, ("margin", "score"), self.lookahead)
        self._bias = float(self.classifier.out_bias)

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
    """Of one that looks at features.QUICK: also at what the text has said before."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._units = _units(self.classifier, ("margin", "score", "echo_1", "echo_2", "echo_3"), self.lookahead)
        self._bias = float(self.classifier.out_bias)
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


class StareStop(ClassifierStop):
    """Of one that looks at whatever there is."""

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
        static = features.describe_one(step.scores, step.preferences, step.token, echoes)
        accepted = self.classifier.one([*static, self._previous, (len(step.ahead) + 1) / features.POSITION_SCALE])
        self._previous = static[features.OWN]
        return self._weigh(accepted)


def _units(classifier: Classifier, names: Sequence[str], longest: int) -> list[list[tuple[float, ...]]]:
    """By position, up to the `longest` draft: of each hidden unit the weights of these features, its bias, to which the
    position has been added beforehand, and its say."""
    weights, says = classifier.hidden.double(), classifier.out[0].tolist()
    of_features = [weights[:, features.NAMES.index(name)].tolist() for name in names]
    of_position = weights[:, features.NAMES.index("position")]
    units = []
    for number in range(1, longest + 1):
        biases = classifier.hidden_bias + of_position * (number / features.POSITION_SCALE)
        units.append(list(zip(*of_features, biases.tolist(), says, strict=True)))
    return units


def stop_of(rule: str, lookahead: int, classifier: Classifier, threshold: float) -> ClassifierStop:
    """`rule` as in decoding.spec: threshold or priced."""
    kind = GlanceStop if classifier.glances else EarStop if classifier.quick else StareStop
    return kind(lookahead, classifier, threshold, by_price=rule == "priced")
