"""Confirmation: run the settings that replay recommends, side by side on the same prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from decoding.loop import never
from decoding.measure.comparison import Comparison
from decoding.measure.summary import report
from decoding.pair import Pair
from decoding.prompts.prompt import Prompt
from decoding.replay.planning import Prediction, best
from decoding.spec import Choice, Sampling, choose
from decoding.strategies import BASELINE


def best_of_each(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return the best setting of each strategy, fastest first."""
    strategies = {prediction.choice.strategy for prediction in predictions}
    return sorted((best(predictions, strategy) for strategy in strategies), key=lambda p: -p.tokens_per_s)


def to_run(predictions: Sequence[Prediction]) -> list[Choice]:
    """Choices to run: the baseline and every setting that can be deployed. A bound cannot."""
    return [choose(BASELINE), *(p.choice for p in predictions if p.choice.spec.role == "ranked")]


def confirm(
    pair: Pair,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    predictions: Sequence[Prediction],
    *,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> Mapping[str, Mapping[str, Any]]:
    """Run the settings and return the report's rows by label. It calls `on_progress` after every sample."""
    return run_all(pair, prompts, sampling, to_run(predictions), on_progress=on_progress, cancelled=cancelled)


def run_all(
    pair: Pair,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    choices: Sequence[Choice],
    *,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> Mapping[str, Mapping[str, Any]]:
    """Run choices side by side and return the report's rows by label. None remembers texts of an earlier run."""
    pair.begin(choices)
    comparison = Comparison(pair, prompts, choices, sampling, cancelled=cancelled)
    comparison.warm_up()
    samples = comparison.run_whole(on_progress)
    return {row["label"]: row for row in report(choices, {choice.label: "" for choice in choices}, samples)}
