"""Paired speed-ups with their intervals: a strategy's speed on each prompt relative to the baseline's.

Standard library only.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from decoding.measure import intervals
from decoding.measure.sample import Sample


@dataclass(frozen=True, slots=True)
class Speedup:
    median: float
    low: float | None  # None if there are too few prompts for so many strategies
    high: float | None
    prompts: int


Ratios = Mapping[str, float]  # prompt -> the strategy's speed on it relative to the baseline's
Speed = Callable[[Sample], float]


def decode_speed(sample: Sample) -> float:
    return sample.tokens_per_s


def end_to_end_speed(sample: Sample) -> float:
    return sample.end_to_end_tokens_per_s


def ratios(samples: Iterable[Sample], baseline: Iterable[Sample], speed: Speed = decode_speed) -> Ratios:
    """Ratio of each prompt to the baseline: the median over repeats. The turns of a conversation are not independent,
    so together they count as one prompt."""
    base = {(s.prompt, s.repeat): speed(s) for s in baseline}
    found: dict[str, list[float]] = {}
    for sample in samples:
        reference = base.get((sample.prompt, sample.repeat))
        if reference and speed(sample):
            found.setdefault(sample.conversation or sample.prompt, []).append(speed(sample) / reference)
    return {prompt: statistics.median(values) for prompt, values in found.items()}


def speedups(columns: Sequence[Ratios]) -> list[Speedup | None]:
    """One speed-up per strategy, with intervals that hold together. None if no prompt has samples of both."""
    found = zip(columns, intervals.median_intervals(columns), strict=True)
    return [
        Speedup(statistics.median(column.values()), low, high, len(column)) if column else None
        for column, (low, high) in found
    ]


def speedup(samples: Sequence[Sample], baseline: Sequence[Sample]) -> Speedup | None:
    """Speed-up of a single strategy, judged alone."""
    return speedups([ratios(samples, baseline)])[0]


def break_even_tokens(samples: Iterable[Sample], baseline: Iterable[Sample]) -> float | None:
    """Number of output tokens from which the strategy is faster end to end; None if it never is or that is unknown."""
    base = {(s.prompt, s.repeat): s for s in baseline if s.tokens_per_s}
    found = [
        _break_even(sample, base[sample.prompt, sample.repeat])
        for sample in samples
        if sample.tokens_per_s and (sample.prompt, sample.repeat) in base
    ]
    middle = statistics.median(found) if found else math.inf
    return middle if math.isfinite(middle) else None


def _break_even(sample: Sample, baseline: Sample) -> float:
    saved_ns = 1e9 / baseline.tokens_per_s - 1e9 / sample.tokens_per_s
    return max(0.0, (sample.prefill_ns - baseline.prefill_ns) / saved_ns) if saved_ns > 0 else math.inf
