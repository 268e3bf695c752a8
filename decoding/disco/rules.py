"""Stop rules that ask the classifier, live and in replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.costs import Costs
from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.recording import Recording
from decoding.disco.words import word_of
from decoding.drafting import Draft, DraftStep
from decoding.verify import Verdict


@dataclass
class ClassifierStop:
    """DISCO as published: stop after a token that the classifier gives less than the threshold."""

    lookahead: int
    classifier: Classifier
    threshold: float
    reads = True
    estimates: Sequence[float] = ()

    def __post_init__(self) -> None:
        self._word = word_of(self.classifier, self.lookahead)
        self._begin()

    def should_stop(self, step: DraftStep) -> bool:
        accepted = self._word(step)
        self._said.append(accepted)
        return accepted < self.threshold

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self._begin()

    def _begin(self) -> None:
        """A round."""
        self.estimates = self._said = list[float]()


@dataclass
class PricedStop(ClassifierStop):
    """Go on while one more token is worth the time that it takes. What it brings is the chance that all of the draft
    so far is accepted, times the chance that a token is whose predecessors were; `price` is the first of these at which
    the two come out even.

    That is the best stopping time wherever the words for the tokens to come do not depend on those so far: the chance
    that all is accepted only falls, so what is not worth its time now will not be later (docs/decisions/0010).
    """

    def should_stop(self, step: DraftStep) -> bool:
        accepted = self._word(step)
        self._said.append(accepted)
        self._survival *= accepted
        return self._survival < self.threshold

    def _begin(self) -> None:
        super()._begin()
        self._survival = 1.0


def price(costs: Costs, tokens_per_s: float, follows: float) -> float:
    """What one more drafted token costs, in tokens (drafting it, deciding on it, one more row to verify), by the chance
    that a token is accepted whose predecessors were. Where none ever was, the first token is all that is worth it."""
    if not follows:
        return 1.0
    return tokens_per_s * (costs.draft + costs.decision + costs.row()) / follows


def rounds_from_everywhere(recording: Recording, cap: int) -> Tensor:
    """The static columns of every token of a round that starts at each place: [N, cap, STATIC]. Past the first
    refusal these are of what the draft would have gone on to say."""
    count = len(recording.matches)
    runs = torch.tensor(recording.record.runs)
    starts, steps = torch.arange(count)[:, None], torch.arange(cap)[None]
    rows = recording.static[(starts + steps).clamp(max=count - 1)]
    if not recording.tails.numel():
        return rows
    tail_of = ((~recording.matches).cumsum(0) - 1)[(starts[:, 0] + runs).clamp(max=count - 1)].clamp(min=0)
    depth = (steps - runs[:, None] - 1).clamp(0, recording.tails.shape[1] - 1)
    return torch.where((steps <= runs[:, None])[..., None], rows, recording.tails[tail_of[:, None], depth])


@torch.inference_mode()
def estimates(classifier: Classifier, rounds: Tensor) -> Tensor:
    """What the classifier says of each token of such rounds: [N, cap]."""
    count, cap, _ = rounds.shape
    own = features.own(rounds)
    previous = torch.cat((torch.ones(count, 1), own[:, :-1]), 1)
    position = torch.arange(1.0, cap + 1).expand(count, -1)
    table = features.in_round(rounds.flatten(0, 1), previous.flatten(), position.flatten())
    return classifier(table).view(count, cap)


def threshold_lengths(said: Tensor, threshold: float) -> Sequence[int]:
    """How many tokens ClassifierStop drafts from each place, given its estimates [N, cap]."""
    return _first(said < threshold)


def priced_lengths(said: Tensor, threshold: float) -> Sequence[int]:
    """How many tokens PricedStop drafts from each place."""
    return _first(said.cumprod(-1) < threshold)


def confidence_lengths(rounds: Tensor, threshold: float) -> Sequence[int]:
    """How many tokens the plain threshold on the draft's own confidence drafts from each place."""
    return _first(features.own(rounds) < threshold)


def _first(stops: Tensor) -> Sequence[int]:
    cap = stops.shape[1]
    where = torch.where(stops, torch.arange(1, cap + 1), cap).amin(-1)
    lengths: list[int] = where.tolist()
    return lengths
