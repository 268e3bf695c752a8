"""Confirmation: run the settings that replay recommends, side by side on the same prompts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.measure.comparison import Measurement, SinkFor, no_sink
from decoding.measure.schedule import SampleKey
from decoding.measure.summary import report
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from, with_mixes, with_trees
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import Prediction, RecordedSet, predict_these
from decoding.replay.probing import MIX
from decoding.strategies import BASELINE
from decoding.trace.events import Event, EventSink, NullSink, Recorder, Verified

READ = 48  # prompts whose rounds are read for prices

Runs = Sequence[tuple[Choice, Sequence[Event]]]


@dataclass(frozen=True)
class Confirmed:
    rows: Mapping[str, Mapping[str, Any]]  # of the report, by label
    runs: Runs  # with their events

    def costs(self, probed: CostModel) -> CostModel | None:
        """Prices of passes during these runs; None if they show none. Looks and decisions keep their probed prices."""

        def of(kind: Callable[[Choice], object]) -> list[Sequence[Event]]:
            return [events for choice, events in self.runs if kind(choice)]

        chains = of(lambda choice: choice.spec.prices_passes and choice.sees == "nothing")
        if not any(sum(isinstance(event, Verified) for event in events) > 1 for events in chains):
            return None
        costs = dataclasses.replace(costs_from(chains), reading=probed.reading, decision=probed.decision)
        mixes = of(lambda choice: choice.kind == MIX.kind)
        return with_mixes(with_trees(costs, of(lambda choice: choice.spec.branches)), mixes, MIX.sees)


def to_run(predictions: Sequence[Prediction]) -> list[Choice]:
    """Choices to run: the baseline and every setting that can be deployed. A bound cannot."""
    return [choose(BASELINE), *(p.choice for p in predictions if p.choice.spec.role == "ranked")]


def confirm(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    predictions: Sequence[Prediction],
    *,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> Confirmed:
    """Run the settings. It calls `on_progress` after every sample."""
    read = {prompt.id for prompt in prompts[:: -(-len(prompts) // READ)]}
    runs = list[tuple[Choice, Sequence[Event]]]()

    def sink_for(key: SampleKey) -> EventSink:
        if key.prompt.id not in read:
            return NullSink()
        recorder = Recorder()
        runs.append((key.choice, recorder.events))
        return recorder

    choices = to_run(predictions)
    rows = run_all(pair, prompts, sampling, choices, sink_for=sink_for, on_progress=on_progress, cancelled=cancelled)
    return Confirmed(rows, runs)


def repriced(
    confirmed: Confirmed,
    predictions: Sequence[Prediction],
    study: RecordedSet,
    probed: CostModel,
    classifier: DraftClassifier | None,
) -> dict[str, float]:
    """Replay the settings that ran at the prices of their runs. Return speed-ups by label. What parts them from the
    measured ones is the replay's own error, not a machine that has changed since the probe."""
    costs = confirmed.costs(probed)
    if costs is None:
        return {}
    ran = [each.choice for each in predictions if each.choice.label in confirmed.rows]
    choices = [choice for choice in ran if choice.spec.can_replay]
    return {each.choice.label: each.speedup for each in predict_these(choices, study, costs, classifier)}


def run_all(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    choices: Sequence[Choice],
    *,
    sink_for: SinkFor = no_sink,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> Mapping[str, Mapping[str, Any]]:
    """Run choices side by side and return the report's rows by label. None remembers texts of an earlier run."""
    pair.begin(choices)
    comparison = Measurement(pair, prompts, choices, sampling, sink_for=sink_for, cancelled=cancelled)
    comparison.warm_up()
    samples = comparison.run(on_progress)
    return {row["label"]: row for row in report(choices, {choice.label: "" for choice in choices}, samples)}
