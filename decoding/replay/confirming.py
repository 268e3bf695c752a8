"""Confirmation: run the settings that replay recommends, side by side on the same prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.measure.comparison import Measurement, SinkFor, no_sink
from decoding.measure.summary import report
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import Prediction
from decoding.strategies import BASELINE


def to_run(predictions: Sequence[Prediction]) -> list[Choice]:
    """Choices to run: the baseline and every setting that can be deployed. A bound cannot."""
    return [choose(BASELINE), *(p.choice for p in predictions if p.choice.spec.role == "ranked")]


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
