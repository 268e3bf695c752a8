"""Transfer of a classifier from one set of prompts to another: train on each, judge on each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product

from decoding.disco.classifier import DraftClassifier
from decoding.disco.training import label
from decoding.papers.bootstrap import Estimate, median
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import CAP, STATICS, RecordedSet, price_of_a_token
from decoding.strategies.disco import Priced
from decoding.training.designs import USUAL

FEWEST = 4  # prompts of a set
HALVES = (0, 1)
EACH_HELD_OUT = 3  # of so many prompts that train, one says when to stop


def matrix(sets: Mapping[str, RecordedSet], costs: CostModel) -> dict[tuple[str, str], Estimate]:
    """Speed over the lookahead that is best on the judged set, by the sets (trained on, judged on).

    A classifier trains on half of a set and judges the other half of each, so that all train on equally many prompts
    and none judges a prompt that taught it. Another one does the same the other way round."""
    halves = {(name, half): _half(study, half) for name, study in sets.items() for half in HALVES}
    statics = {name: max((study.play(c) for c in STATICS), key=costs.tokens_per_s) for name, study in sets.items()}
    gains: dict[tuple[str, str], list[float]] = {pair: [] for pair in product(sets, sets)}
    for (trained, half), study in halves.items():
        classifier = _trained(study)
        source = partial(Priced, price_of_a_token(study, costs, classifier), CAP)
        for judged in sets:
            other = halves[judged, 1 - half]
            counts = other.count(source, classifier)
            best = statics[judged].parts[1 - half :: len(HALVES)]
            gains[trained, judged] += [
                costs.seconds(before) / costs.seconds(after, "estimate")
                for before, after in zip(best, counts.parts, strict=True)
            ]
    return {pair: median(ratios) for pair, ratios in gains.items()}


def _half(study: RecordedSet, half: int) -> RecordedSet:
    return RecordedSet(study.recordings[half :: len(HALVES)], study.words)


def _trained(study: RecordedSet) -> DraftClassifier:
    """Train our network that costs least: which one pays is not what the figure is about."""
    held_out = study.recordings[::EACH_HELD_OUT]
    rest = [recording for number, recording in enumerate(study.recordings) if number % EACH_HELD_OUT]
    [made] = USUAL.train(USUAL.networks()[-1:], label(rest), label(held_out))
    return made
