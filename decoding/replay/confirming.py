"""Confirmation: run the settings that replay recommends, side by side on the same prompts. The plan's document shows
both; it is plain data for pages, REST and terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement, SinkFor, no_sink
from decoding.measure.schedule import SampleKey
from decoding.measure.summary import report
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import Prediction
from decoding.trace.events import Event, EventSink, Recorder

FORMAT = "drafthouse.plan/1"


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


class Traces(dict[str, list[Sequence[Event]]]):
    """Events of each sample of a run, by the label of its choice."""

    def sink_for(self, key: SampleKey) -> EventSink:
        recorder = Recorder()
        self.setdefault(key.choice.label, []).append(recorder.events)
        return recorder


def document_of(
    best: Sequence[Prediction],
    rows: Mapping[str, Mapping[str, Any]],
    predictions: Sequence[Prediction],
    costs: CostModel,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "settings": [_setting(each, rows.get(each.choice.label)) for each in best],
        "predictions": [_priced(prediction) for prediction in predictions],
        "costs": costs.for_one(),
        "context": costs.about_context,
        "elsewhere": [one for prediction in best for one in prediction.choice.elsewhere()],
    }


def _priced(prediction: Prediction) -> dict[str, Any]:
    choice = prediction.choice
    return {
        "strategy": choice.strategy,
        "kind": choice.kind,
        "params": dict(choice.params),
        "speedup": prediction.speedup,
        "tokens_per_s": prediction.tokens_per_s,
    }


def _setting(prediction: Prediction, row: Mapping[str, Any] | None) -> dict[str, Any]:
    """One setting: its predicted speed-up and, if it was run, the measured one."""
    return {
        **_priced(prediction),
        "label": prediction.choice.label,
        "role": prediction.choice.spec.role,
        "measured": row["speedup"] if row else None,
        "audit": row["audit"] if row else None,
    }
