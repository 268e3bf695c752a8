"""Learning curve: the speed-up of classifiers that learn from fewer prompts, so that it shows when more stop paying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.disco import metrics
from decoding.disco.cards import PAYS
from decoding.disco.classifier import DraftClassifier
from decoding.disco.recording import Recording
from decoding.disco.training import Labelled
from decoding.drafting.source import Sight
from decoding.measure.intervals import Interval, ratio_interval, ratio_intervals
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.replay.planning import AUTOREGRESSIVE, RecordedSet

FEWEST, POINTS = 8, 6  # prompts of the smallest part; parts

Labels = Callable[[Sequence[Recording]], Labelled]
Learns = Callable[[Labelled], DraftClassifier]


@dataclass(frozen=True)
class TestBench:
    """Test prompts, and the replay and prices that judge every part alike."""

    test: RecordedSet
    labelled: Labelled  # the test prompts' tokens
    costs: CostModel
    play: Callable[[DraftClassifier], Counts]  # the strategy that asks the classifier
    sees: Sight

    def seconds(self, classifier: DraftClassifier) -> list[float]:
        return [self.costs.seconds(part, self.sees) for part in self.play(classifier).parts]

    def undrafted(self) -> list[float]:
        return [self.costs.seconds(part) for part in self.test.play(AUTOREGRESSIVE).parts]

    def auc(self, classifier: DraftClassifier) -> float:
        return metrics.area_under_roc(classifier(self.labelled.rows), self.labelled.accepted)


def curve(
    recordings: Sequence[Recording],
    label: Labels,
    can_teach: Callable[[Labelled], bool],
    whole: DraftClassifier,
    learns: Learns,
    judge: TestBench,
) -> dict[str, Any]:
    """Train on half of the recordings, a quarter and so on. `whole` has learnt from all of them."""
    parts = {count: label(_evenly(recordings, count)) for count in _counts(len(recordings))}
    trained = {count: learns(part) for count, part in parts.items() if can_teach(part)}
    counts, found = [*trained, len(recordings)], [*trained.values(), whole]
    undrafted, seconds = judge.undrafted(), [judge.seconds(classifier) for classifier in found]
    columns = {number: dict(enumerate(each)) for number, each in enumerate((undrafted, *seconds))}
    intervals = ratio_intervals(columns, [(0, number) for number in range(1, len(columns))]).values()
    points = [
        {
            "prompts": count,
            "auc": judge.auc(classifier),
            "speedup": sum(undrafted) / sum(each),
            "low": low,
            "high": high,
        }
        for count, classifier, each, (low, high) in zip(counts, found, seconds, intervals, strict=True)
    ]
    gains = [ratio_interval(zip(each, seconds[-1], strict=True)) for each in seconds]
    return {"points": points, "enough": enough(counts, gains)}


def enough(counts: Sequence[int], gains: Sequence[Interval]) -> int | None:
    """Return the fewest prompts that are surely less than `PAYS` slower than all; None if that cannot be told. `gains`
    are intervals of the speed with all prompts over that with so many."""
    sure = (count for count, (_, high) in zip(counts, gains, strict=True) if high is not None and high < 1 + PAYS)
    return next(sure, None)


def _counts(most: int) -> list[int]:
    halves = [most >> step for step in range(POINTS - 1, 0, -1)]
    return [count for count in halves if count >= FEWEST]


def _evenly(recordings: Sequence[Recording], count: int) -> list[Recording]:
    """Take so many from all over the set, which may be in order of kind."""
    return [recordings[number * len(recordings) // count] for number in range(count)]
