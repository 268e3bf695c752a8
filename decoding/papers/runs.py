"""Runs that several figures share: some choices side by side, kept as plain numbers for each prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.measure.comparison import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import SampleKey
from decoding.papers.bootstrap import Estimate, median
from decoding.prompts.prompt import PromptItem
from decoding.trace.events import Event, EventSink, Recorder

Traces = Mapping[str, Sequence[Sequence[Event]]]  # by label


@dataclass(frozen=True)
class Ran:
    """Speeds of each choice on each prompt, in tokens per second, the hits of what prepares ahead, and what a
    verification takes."""

    speeds: Mapping[str, Mapping[str, float]]  # label -> prompt -> tokens/s
    hits: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # label -> counts of each sample
    hardware: Mapping[str, str] = field(default_factory=dict)
    verifying: Mapping[str, float] = field(default_factory=dict)  # label -> mean seconds of a verification

    def ratio(self, label: str, baseline: str, factor: float = 1.0) -> Estimate:
        """Speed over the baseline's on the same prompt, times a factor: the median over prompts."""
        base = self.speeds[baseline]
        return median([factor * speed / base[prompt] for prompt, speed in self.speeds[label].items()])

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self)}


def run(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    choices: Sequence[Choice],
    sampling: Sampling,
    *,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> tuple[Ran, Traces]:
    """Run choices side by side, in rotated order. Return their numbers, and their traces by label."""
    recorders: dict[tuple[str, str], Recorder] = {}

    def sink(key: SampleKey) -> EventSink:
        return recorders.setdefault((key.choice.label, key.prompt.id), Recorder())

    comparison = Measurement(pair, prompts, choices, sampling, sink_for=sink, cancelled=cancelled)
    pair.begin(choices)
    comparison.warm_up()
    samples = comparison.run_whole(on_progress)
    labels = [choice.label for choice in choices]
    ran = Ran(
        {label: {s.prompt: s.tokens_per_s for s in samples if s.strategy == label} for label in labels},
        {label: [dict(s.hits) for s in samples if s.strategy == label and s.hits] for label in labels},
        {choice.label: pair.hardware_of(choice, comparison.longest) for choice in choices},
        {label: _verifying_s([s for s in samples if s.strategy == label]) for label in labels},
    )
    return ran, {label: [r.events for (own, _), r in recorders.items() if own == label] for label in labels}


def _verifying_s(samples: Sequence[SampleResult]) -> float:
    return 1e-9 * sum(s.verify_ns for s in samples) / max(1, sum(s.num_target_passes or 0 for s in samples))
